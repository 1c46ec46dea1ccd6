/** Previews of linked pictures and videos, audio players, and inline pictures. Contract 6.3. */

import { type Element, element, textOf } from './element.ts'
import type { ImageOf } from './links.ts'
import type { NamedUpload, Names, RenderSettings } from './names.ts'
import { insidePath, parseUrl } from './url.ts'

/** A text that links to more media shows no previews. */
const PREVIEWS_MAX = 24

const IMAGE = /\.(?:bmp|gif|jpe|jpe?g|png|webp)$/i
const VIDEO = /\.(?:mp4|webm)$/i
const SOUND_TYPES = new Set([
  'audio/aac',
  'audio/flac',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
])
const IMAGE_TYPES = new Set(['image/gif', 'image/jpeg', 'image/png', 'image/webp'])

export interface Media {
  hasLink: boolean
  hasImage: boolean
  /** Paths of linked uploads, relative to `/user_uploads/`. */
  uploads: string[]
}

interface FoundLink {
  link: Element
  parent: Element
  grandparent: Element | null
  quoted: boolean
  depth: number
}

/** Renders `![text](address)` as a picture if it is an uploaded one, otherwise as a link. A link to another host gets no preview. */
export function imageOf(names: Names, { imagePreviews }: RenderSettings): ImageOf {
  return (address, text) => {
    const upload = uploadOf(address, names)
    if (upload !== undefined && isPicture(upload) && imagePreviews)
      return element('img', { alt: text, class: 'inline-image', ...dataOf(upload), src: address })
    const link = element('a', { href: address }, text.trim() === '' ? address : text)
    return upload === undefined ? { ...link, isPlain: true } : link
  }
}

/** Adds previews to a laid-out tree, and returns its links. */
export function addMedia(root: Element, names: Names, settings: RenderSettings): Media {
  const { imagePreviews, externalPreviews, realmUrl } = settings
  const links: FoundLink[] = []
  const images: Element[] = []
  findLinks(root, null, false, 0, links, images)
  // Zulip walks the tree level by level; the first of equal links has the preview.
  links.sort((a, b) => a.depth - b.depth)
  const addresses = new Set([
    ...links.map(({ link }) => link.attributes.href!),
    ...images.map((image) => image.attributes.src!),
  ])
  const uploads = [...addresses].map((address) => uploadPath(address, realmUrl)).filter((path) => path !== null)
  const media = { hasLink: links.length > 0, hasImage: images.length > 0, uploads: [...new Set(uploads)] }
  const previewable = links.filter(({ link, quoted }) => !quoted && !link.isPlain)
  const open = new Set(previewable.map(({ link }) => link.attributes.href!))
  if (!imagePreviews || open.size > PREVIEWS_MAX) return media
  const previews = new Previews(names, externalPreviews)
  for (const found of previewable)
    if (open.delete(found.link.attributes.href!) && previews.add(found, root)) media.hasImage = true
  return media
}

function findLinks(
  node: Element,
  parent: Element | null,
  quoted: boolean,
  depth: number,
  links: FoundLink[],
  images: Element[],
): void {
  // The parts of a spoiler count as if they were in its place.
  const inSpoiler = node.attributes.class?.startsWith('spoiler-') ?? false
  for (const child of node.children) {
    if (child.tag === 'a') links.push({ link: child, parent: node, grandparent: parent, quoted, depth })
    if (child.attributes.class === 'inline-image') images.push(child)
    const isQuote = quoted || child.tag === 'blockquote'
    findLinks(child, node, isQuote, inSpoiler ? depth : depth + 1, links, images)
  }
}

class Previews {
  readonly #names: Names
  readonly #isExternal: boolean
  /** The last preview after each paragraph, which the next one follows. */
  readonly #last = new Map<Element, Element>()

  constructor(names: Names, isExternal: boolean) {
    this.#names = names
    this.#isExternal = isExternal
  }

  add(found: FoundLink, root: Element): boolean {
    const { link } = found
    const href = link.attributes.href!
    const text = textOf(link)
    const title: Record<string, string> = text === href || text === '' ? {} : { title: text }
    const upload = uploadOf(href, this.#names)
    if (upload === undefined && !this.#isExternal) return false
    if (upload !== undefined && SOUND_TYPES.has(upload.contentType)) {
      Object.assign(link, element('audio', { controls: 'controls', preload: 'metadata', src: href, title: text }), {
        tail: link.tail,
      })
      return false
    }
    const isVideo = upload === undefined ? VIDEO.test(href) : /^video\/(?:mp4|webm)$/.test(upload.contentType)
    const isImage = upload === undefined ? isForeignImage(href) : isPicture(upload)
    if (!isVideo && !isImage) return false
    const box = element('div', {
      class: isVideo ? 'message_inline_image message_inline_video' : 'message_inline_image',
    })
    const inner = element('a', { href, ...title })
    inner.children.push(
      isVideo ? element('video', { preload: 'metadata', src: href }) : element('img', { ...dataOf(upload), src: href }),
    )
    box.children.push(inner)
    this.#place(box, found, root, text === href || text === '')
    return !isVideo
  }

  /** Places the preview after the paragraph of the link, replacing a paragraph that has nothing else; in a list item, at its end. */
  #place(box: Element, { link, parent, grandparent }: FoundLink, root: Element, isBare: boolean): void {
    const alone = isBare && parent.text.trim() === '' && link.tail.trim() === ''
    if (parent.tag === 'li') {
      parent.children.push(box)
      if (alone) remove(parent, link)
    } else if (parent.tag === 'p' && grandparent !== null) {
      const after = this.#last.get(parent) ?? parent
      grandparent.children.splice(grandparent.children.indexOf(after) + 1, 0, box)
      this.#last.set(parent, box)
      if (alone && parent.children.length === 1) remove(grandparent, parent)
    } else root.children.push(box)
  }
}

function remove(parent: Element, child: Element): void {
  parent.children.splice(parent.children.indexOf(child), 1)
}

/** Checks content and name: a file that cannot be decoded would show as a broken picture. */
const isPicture = ({ contentType, width }: NamedUpload): boolean => IMAGE_TYPES.has(contentType) && width !== undefined

function isForeignImage(address: string): boolean {
  const url = parseUrl(address)
  return url !== null && /^https?$/.test(url.scheme) && IMAGE.test(url.path)
}

function uploadOf(address: string, names: Names): NamedUpload | undefined {
  const path = /^\/?user_uploads\/([^?#]+)/.exec(address)?.[1]
  return path === undefined ? undefined : names.upload(path)
}

function uploadPath(address: string, realmUrl: string): string | null {
  const inside = insidePath(address, realmUrl)
  return inside === null ? null : (/^user_uploads\/([^?#]+)/.exec(inside)?.[1] ?? null)
}

function dataOf(upload: NamedUpload | undefined): Record<string, string> {
  if (upload === undefined) return {}
  const { width, height, contentType } = upload
  return {
    'data-original-content-type': contentType,
    ...(width === undefined ? {} : { 'data-original-dimensions': `${width}x${height}` }),
  }
}
