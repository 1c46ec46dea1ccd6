/** Renders the content of a message from the tree of `reader.ts`. Only listed elements, attributes and classes are created. */

import { type ComponentChild, createElement, Fragment } from 'preact'
import { dateAndTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import { CodeBlock } from './code-block.tsx'
import { MATH, MATH_ATTRIBUTES, PLAIN } from './elements.ts'
import { namedHost, ownMedia, safeLink } from './links.ts'
import { type HtmlNode, type HtmlPart, readHtml, textOf } from './reader.ts'

const PICTURE_PX_MAX = { width: 416, height: 320 } // several fit into a window

/** Renders a message. Fetches nothing from other hosts, runs no script, and shows unknown HTML as text. */
export function Content({ html, isMe = false }: { html: string; isMe?: boolean }) {
  const parts = readHtml(html)
  if (parts === null) return <p>{html}</p>
  try {
    return <>{elementsOf(isMe ? withoutMe(parts) : parts)}</>
  } catch (error) {
    if (error instanceof UnknownHtml) return <p>{html}</p>
    throw error
  }
}

class UnknownHtml extends Error {}

const elementsOf = (parts: readonly HtmlPart[]): ComponentChild[] =>
  parts.map((part) => (typeof part === 'string' ? part : elementOf(part)))

function elementOf(node: HtmlNode): ComponentChild {
  const { tag, attributes, children } = node
  const has = (name: string) => classesOf(node).includes(name)
  if (tag === 'a') return <Link node={node} />
  if (tag === 'img') return <Picture node={node} />
  if (tag === 'video' || tag === 'audio') return <Recording node={node} />
  if (tag === 'time') return <LocalTime node={node} />
  if (tag === 'th' || tag === 'td') return cellOf(node)
  if (/^h[1-6]$/.test(tag)) return <div class={`heading level-${tag[1]}`}>{elementsOf(children)}</div>
  if (tag === 'ol' && attributes.start !== undefined)
    return <ol start={Number(attributes.start)}>{elementsOf(children)}</ol>
  if (tag === 'span' && has('emoji')) return <Emoji node={node} />
  if (tag === 'span' && has('katex')) return elementsOf(children)
  if (tag === 'span' && has('katex-html')) return null // duplicate for browsers without MathML
  if (tag === 'span' && has('katex-mathml')) return children.map((child) => mathOf(child))
  if (tag === 'div' && has('codehilite'))
    return <CodeBlock text={textOf(children)} language={attributes['data-code-language']} />
  if (tag === 'div' && has('spoiler-block')) return <Spoiler node={node} />
  if (tag === 'div' && has('message_inline_image')) return <div class="media">{elementsOf(children)}</div>
  const classes = PLAIN[tag]
  if (!Object.hasOwn(PLAIN, tag) || classes === undefined) throw new UnknownHtml()
  const own = classesOf(node).filter((name) => classes.includes(name))
  return createElement(tag, own.length === 0 ? {} : { class: own.join(' ') }, ...elementsOf(children))
}

const classesOf = ({ attributes }: HtmlNode): string[] => (attributes.class ?? '').split(' ')

function mathOf(part: HtmlPart): ComponentChild {
  if (typeof part === 'string') return part
  const { tag, attributes, children } = part
  if (tag === 'annotation') return null
  if (!MATH.has(tag)) throw new UnknownHtml()
  const own = Object.fromEntries(Object.entries(attributes).filter(([name]) => MATH_ATTRIBUTES.has(name)))
  return createElement(tag, own, ...children.map(mathOf))
}

function cellOf({ tag, attributes, children }: HtmlNode): ComponentChild {
  const align = /^text-align: (left|center|right);$/.exec(attributes.style ?? '')?.[1]
  return createElement(tag, align === undefined ? {} : { class: `align-${align}` }, ...elementsOf(children))
}

function Link({ node: { attributes, children } }: { node: HtmlNode }) {
  const link = safeLink(attributes.href ?? '', location.origin)
  if (link === null) return <>{elementsOf(children)}</>
  if (link.isOwn) return <a href={link.href}>{elementsOf(children)}</a>
  const named = namedHost(textOf(children))
  return (
    <>
      <a href={link.href} target="_blank" rel="noopener noreferrer" title={attributes.title}>
        {elementsOf(children)}
      </a>
      {named !== null && link.host !== '' && named !== link.host && <span class="host"> ({link.host})</span>}
    </>
  )
}

function Picture({ node: { attributes } }: { node: HtmlNode }) {
  const { alt = '', src = '' } = attributes
  const own = ownMedia(src, location.origin)
  const name = alt || attributes.title || ''
  if (attributes.class === 'emoji') return own === null ? alt : <img class="emoji" src={own} alt={alt} title={alt} />
  if (own === null) return <>{name || words.picture}</>
  const size = sizeOf(attributes['data-original-dimensions'] ?? '')
  return <img class="picture" src={own} alt={name || words.picture} loading="lazy" {...size} />
}

/** The size at which a picture is shown, so that it takes its place before it is loaded. */
function sizeOf(dimensions: string) {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(dimensions.replaceAll(' ', ''))?.map(Number) ?? []
  if (!width || !height) return {}
  const scale = Math.min(1, PICTURE_PX_MAX.width / width, PICTURE_PX_MAX.height / height)
  return { width, height, style: { width: `${width * scale}px` } }
}

function Recording({ node: { tag, attributes } }: { node: HtmlNode }) {
  const own = ownMedia(attributes.src ?? '', location.origin)
  if (own === null) return <>{attributes.title ?? words.recording}</>
  return createElement(tag, { controls: true, preload: 'metadata', src: own, title: attributes.title })
}

/** Renders an emoji as characters, from its code such as `1f1e9-1f1ea`. */
function Emoji({ node }: { node: HtmlNode }) {
  const codes = /(?:^| )emoji-([0-9a-f]{2,6}(?:-[0-9a-f]{2,6})*)(?: |$)/.exec(node.attributes.class ?? '')?.[1]
  const points = codes?.split('-').map((code) => Number.parseInt(code, 16)) ?? []
  const name = node.attributes.title ?? ''
  if (points.length === 0 || points.some((code) => code > 0x10ffff)) return <>{textOf(node.children)}</>
  return (
    <span role="img" aria-label={name} title={name} class="emoji">
      {String.fromCodePoint(...points)}
    </span>
  )
}

function LocalTime({ node: { attributes, children } }: { node: HtmlNode }) {
  const { datetime = '' } = attributes
  const time = new Date(datetime)
  if (Number.isNaN(time.getTime())) return <>{elementsOf(children)}</>
  return (
    <time dateTime={datetime} title={textOf(children)}>
      {dateAndTime(time)}
    </time>
  )
}

function Spoiler({ node }: { node: HtmlNode }) {
  const part = (name: string): readonly HtmlPart[] =>
    node.children.filter((child) => typeof child !== 'string').find((child) => classesOf(child).includes(name))
      ?.children ?? []
  const header = textOf(part('spoiler-header')).trim()
  return (
    <details class="spoiler">
      <summary>{header || words.spoiler}</summary>
      <Fragment>{elementsOf(part('spoiler-content'))}</Fragment>
    </details>
  )
}

/** Removes `/me`: the sender's name precedes the text. */
function withoutMe(parts: readonly HtmlPart[]): readonly HtmlPart[] {
  const [first, ...rest] = parts
  if (first === undefined || typeof first === 'string' || first.tag !== 'p') return parts
  const [text, ...more] = first.children
  if (typeof text !== 'string' || !text.startsWith('/me ')) return parts
  return [{ ...first, children: [text.slice('/me '.length), ...more] }, ...rest]
}
