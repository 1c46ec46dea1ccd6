/**
 * Markers stand in a text for what was taken out of it. They are made of noncharacters, which Unicode keeps for such
 * inner use; a text of a user has none, since they are dropped from it first.
 */

const BLOCK = '\uFDD0'
const INLINE = '\uFDD1'
const END = '\uFDD2'

const fenced = new RegExp(`^${BLOCK}(\\d+)${END}$`, 'u')
const inline = new RegExp(`${INLINE}(\\d+)${END}`, 'u')

/** Stands for a fence, on a line of its own. */
export function blockMarker(index: number): string {
  return `${BLOCK}${index}${END}`
}

export function blockIndex(line: string): number | null {
  const found = fenced.exec(line)
  return found === null ? null : Number(found[1])
}

/** Stands for a piece of a paragraph. Neither a letter nor a space is at its ends. */
export function inlineMarker(index: number): string {
  return `${INLINE}${index}${END}`
}

/** What lies between markers, and at each odd place the index of one. */
export function splitAtMarkers(text: string): string[] {
  return text.split(inline)
}

/** Removes what could be taken for a marker, and the control characters that upstream removes. */
export function withoutMarkers(text: string): string {
  return text
    .replace(/[\uFDD0-\uFDD2]/g, '')
    .replaceAll('\x02', '')
    .replaceAll('\x03', '')
}
