/**
 * Pictures and videos of other hosts, taken out of HTML that was rendered with them: by an older version, or while the operator
 * had them shown. Each reader's client would ask that host for them. Contract section 6.3.
 */

const REST = '(?:[^"<>]|"[^"]*")*' // of a tag
const FOREIGN = '(?:https?:)?//'

/** A preview as media.ts writes one. */
const PREVIEW = new RegExp(
  `<div class="message_inline_image(?: message_inline_video)?"><a href="([^"]*)"${REST}>` +
    `<(?:img|video)\\b${REST}\\ssrc="${FOREIGN}[^"]*"${REST}>(?:</video>)?</a></div>\\n?`,
  'g',
)

/** A picture in the text, which only older versions took from other hosts. */
const INLINE = /<img (?=[^<>]*class="inline-image")([^<>]*)>/g

/** Each is a link, as it would have been without previews. */
export function withoutForeignPictures(html: string): string {
  if (!/src="(?:https?:)?\/\//.test(html)) return html
  const without = html.replace(PREVIEW, '')
  return html
    .replace(PREVIEW, (_, href: string) =>
      // A link that stood alone in its paragraph has given its place to the preview.
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
