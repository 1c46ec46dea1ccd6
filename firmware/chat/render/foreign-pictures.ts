/**
 * Removes pictures and videos of other hosts from HTML that an older version rendered, or that was rendered while the operator allowed
 * them. Each reader's client would otherwise request them from that host. Contract section 6.3.
 */

const REST = '(?:[^"<>]|"[^"]*")*' // rest of a tag
const FOREIGN = '(?:https?:)?//'

/** A preview as written by media.ts. */
const PREVIEW = new RegExp(
  `<div class="message_inline_image(?: message_inline_video)?"><a href="([^"]*)"${REST}>` +
    `<(?:img|video)\\b${REST}\\ssrc="${FOREIGN}[^"]*"${REST}>(?:</video>)?</a></div>\\n?`,
  'g',
)

/** An inline picture. Only older versions rendered those of other hosts. */
const INLINE = /<img (?=[^<>]*class="inline-image")([^<>]*)>/g

/** Replaces each picture by the link that it would have been without previews. */
export function withoutForeignPictures(html: string): string {
  if (!/src="(?:https?:)?\/\//.test(html)) return html
  const without = html.replace(PREVIEW, '')
  return html
    .replace(PREVIEW, (_, href: string) =>
      // The preview has replaced a link that stood alone in its paragraph.
      without.includes(`<a href="${href}"`) ? '' : `<p><a href="${href}">${href}</a></p>\n`,
    )
    .replace(INLINE, (image, attributes: string) => {
      const source = /(?:^|\s)src="((?:https?:)?\/\/[^"]*)"/.exec(attributes)?.[1]
      if (source === undefined) return image
      const text = /(?:^|\s)alt="([^"]*)"/.exec(attributes)?.[1] ?? ''
      return `<a href="${source}">${text.trim() === '' ? source : text}</a>`
    })
    .trim()
}

/** Members of events that contain HTML of messages. */
const HTML_MEMBERS = new Set(['rendered_content', 'orig_rendered_content'])

/** Takes and returns the JSON of an event. The content for clients that render Markdown by themselves stays as it was sent. */
export function eventWithoutForeignPictures(text: string): string {
  if (!/src=\\"(?:https?:)?\/\//.test(text)) return text
  const shown = function (this: { content_type?: unknown }, name: string, value: unknown): unknown {
    const isHtml = HTML_MEMBERS.has(name) || (name === 'content' && this.content_type === 'text/html')
    return isHtml && typeof value === 'string' ? withoutForeignPictures(value) : value
  }
  return JSON.stringify(JSON.parse(text, shown))
}
