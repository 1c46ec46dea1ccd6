/** Display names and paths of uploaded files. Contract section 2.5 (Attachment), row E130. */

import type { Random } from '../../../crypto/random.ts'

const NAME_CHARACTERS_MAX = 200 // longer names are truncated; a message links the file by this name
const EXTENSION_CHARACTERS_MAX = 20
const SPREAD_BYTES = 1
const SECRET_BYTES = 18 // 24 characters: cannot be guessed. Rights are checked as well.
const UNNAMED = 'uploaded-file'
const PATH_CHARACTERS_MAX = 400

/** The path of an upload below `/user_uploads/`: realm, two hex digits, 24 random characters, file name. */
export function newPathId(realmId: number, name: string, random: Random): string {
  const spread = Buffer.from(random(SPREAD_BYTES)).toString('hex')
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url')
  return `${realmId}/${spread}/${secret}/${safeName(name)}`
}

const PATH_ID = /^\d+\/[0-9a-f]{2}\/[\w-]{24}\/(?!\.+$)[\p{L}\p{M}\p{N}_.-]+$/u

/** Returns null unless the path has the form of `newPathId`. Paths with an empty segment or `..` do not. */
export const asPathId = (path: string): string | null =>
  path.length <= PATH_CHARACTERS_MAX && PATH_ID.test(path) ? path : null

/** True if the text links the upload: the name at the end of the path may be written in several ways. */
export const linksUpload = (text: string, pathId: string): boolean =>
  text.includes(`/${pathId.slice(0, pathId.lastIndexOf('/') + 1)}`)

/**
 * The file name within the path: letters, digits, dots and dashes of any script, with the extension. Needs no quoting in URLs that a
 * browser writes, in Markdown or in headers.
 */
export function safeName(name: string): string {
  const safe = (/[^/\\]*$/.exec(name)?.[0] ?? '')
    .normalize('NFKC')
    .replace(/[^\p{L}\p{M}\p{N}_.\s-]/gu, '')
    .replace(/[-\s]+/g, '-')
    .replace(/^-|-$/g, '')
  return /^\.*$/.test(safe) ? UNNAMED : shortened(safe)
}

function shortened(name: string): string {
  const characters = [...name]
  if (characters.length <= NAME_CHARACTERS_MAX) return name
  const dot = characters.lastIndexOf('.')
  const extension = dot > 0 && characters.length - dot <= EXTENSION_CHARACTERS_MAX ? characters.slice(dot) : []
  return [...characters.slice(0, NAME_CHARACTERS_MAX - extension.length), ...extension].join('')
}

/** The display name: the user's spelling without control characters and without the folders that some browsers send. */
export function shownName(name: string): string {
  const shown = (/[^/\\]*$/.exec(name)?.[0] ?? '').replace(/\p{Cc}/gu, '').trim()
  return shown === '' ? UNNAMED : shortened(shown)
}

/** Returns `path` unchanged if its percent-encoding is invalid. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
