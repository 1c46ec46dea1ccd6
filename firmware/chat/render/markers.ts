/**
 * Markers replace extracted parts of a text. They consist of noncharacters, which Unicode reserves for internal use. These are removed from
 * users' texts first.
 */

const BLOCK = '\uFDD0'
const INLINE = '\uFDD1'
const END = '\uFDD2'

const fenced = new RegExp(`^${BLOCK}(\\d+)${END}$`, 'u')
const inline = new RegExp(`${INLINE}(\\d+)${END}`, 'u')

/** Marks a fence, on a line of its own. */
export function blockMarker(index: number): string {
  return `${BLOCK}${index}${END}`
}

export function blockIndex(line: string): number | null {
  const found = fenced.exec(line)
  return found === null ? null : Number(found[1])
}

/** Marks a piece of a paragraph. It begins and ends with neither a letter nor a space. */
export function inlineMarker(index: number): string {
  return `${INLINE}${index}${END}`
}

/** Splits a text at markers. Odd positions of the result have the index of a marker. */
export function splitAtMarkers(text: string): string[] {
  return text.split(inline)
}

/** Removes characters of markers, and the control characters that Zulip removes. */
export function withoutMarkers(text: string): string {
  return text
    .replace(/[\uFDD0-\uFDD2]/g, '')
    .replaceAll('\x02', '')
    .replaceAll('\x03', '')
}
