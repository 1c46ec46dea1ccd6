/** Images that must be refused, made by code; each with the one message it must be refused with. */

import { generateKeyPairSync } from 'node:crypto'
import type { ErrorCode } from '../../firmware/base/error.ts'
import {
  ADDON,
  archive,
  type Entry,
  entryBytes,
  FIRMWARE,
  type Fields,
  goodImage,
  goodManifest,
  head,
  hex,
  INSTALLED,
  member,
  PAYLOAD,
  TRAILER,
  utf8,
} from './archives.ts'

export interface Malformed {
  what: string
  image: Uint8Array
  message: string
  code?: ErrorCode
  /** Refused before more than this was read. */
  readMax?: number
}

const signed = () => head(goodManifest())

const firstWith = (change: Partial<Entry>): Uint8Array => {
  const [manifest, signature] = signed()
  return archive([{ ...manifest!, ...change }, signature!, ...PAYLOAD])
}
const firstNamed = (name: string, rawName = false): Uint8Array => firstWith({ name, rawName })

const withManifest = (change: object): Uint8Array => archive([...head({ ...goodManifest(), ...change }), ...PAYLOAD])
const withMember = (change: object): Uint8Array =>
  withManifest({ members: [{ ...member(FIRMWARE), ...change }, member(ADDON)] })

const withoutMember = (name: string): object => {
  const manifest: Record<string, unknown> = goodManifest()
  delete manifest[name]
  return manifest
}

const cut = (bytes: number): Uint8Array => goodImage().subarray(0, bytes)
const HEADER = 110
const manifestBytes = signed()[0]!.bytes!.length
/** Where the content of the first payload member begins, in a good image. */
const payloadStart = Buffer.concat(signed().map(entryBytes)).length + HEADER + `${FIRMWARE.name}\0`.length

const DIGITS = ['ino', 'mode', 'uid', 'gid', 'nlink', 'mtime', 'filesize', 'devmajor', 'devminor', 'rdevmajor']
const FIELD_NAMES = [...DIGITS, 'rdevminor', 'namesize', 'check'] as (keyof Fields)[]
const ODD_DIGITS = [
  '0000000g',
  '+0000001',
  '        ',
  '0x000001',
  '-0000001',
  '1.000000',
  '0000000\0',
  '\xb2\xb2\xb2\xb2\xb2\xb2\xb2\xb2',
]

const KINDS: [mode: number, what: string][] = [
  [0o120777, 'a symbolic link'],
  [0o040755, 'a directory'],
  [0o010644, 'a pipe'],
  [0o020644, 'a character device'],
  [0o060644, 'a block device'],
  [0o140644, 'a socket'],
  [0o000644, 'of no known type'],
]

const otherKey = generateKeyPairSync('ed25519').privateKey
const UNSIGNED = 'The manifest is not signed by the release key of this appliance'
const SMALL = 16 * 1024

export const MALFORMED: readonly Malformed[] = [
  // The magic
  { what: 'nothing', image: new Uint8Array(), message: 'The image is empty' },
  { what: 'three bytes', image: utf8('070'), message: 'The image is shorter than the magic number of an archive' },
  { what: 'some text', image: utf8('not an archive at all'), message: 'The image is not a cpio archive' },
  { what: 'zeros only', image: new Uint8Array(SMALL), message: 'The image is not a cpio archive' },
  {
    what: 'the crc form',
    image: firstWith({ fields: { magic: '070702' } }),
    message: 'The image is in the crc form of cpio, not in newc',
  },
  {
    what: 'the odc form',
    image: firstWith({ fields: { magic: '070707' } }),
    message: 'The image is in the odc form of cpio, not in newc',
  },
  {
    what: 'the binary form, little endian',
    image: Buffer.from('\xc7\x71binary', 'latin1'),
    message: 'The image is in the binary form of cpio, not in newc',
  },
  {
    what: 'the binary form, big endian',
    image: Buffer.from('\x71\xc7binary', 'latin1'),
    message: 'The image is in the binary form of cpio, not in newc',
  },
  {
    what: 'a compressed image',
    image: Buffer.from('\x1f\x8b\x08\0\0\0', 'latin1'),
    message: 'The image is compressed',
  },
  {
    what: 'a wrong magic in the second member',
    image: archive([signed()[0]!, { ...signed()[1]!, fields: { magic: '070703' } }, ...PAYLOAD]),
    message: 'What follows a member is neither a member nor the trailer',
  },
  {
    what: 'the crc form in the second member',
    image: archive([signed()[0]!, { ...signed()[1]!, fields: { magic: '070702' } }, ...PAYLOAD]),
    message: 'What follows a member is in the crc form of cpio, not in newc',
  },
  {
    what: 'a member cut within its magic number',
    image: Buffer.concat([...signed(), ...PAYLOAD].map(entryBytes).concat(utf8('0707'))),
    message: 'The archive ends within the magic number of a member',
  },
  {
    what: 'four bytes behind a member that begin none',
    image: Buffer.concat([...signed(), ...PAYLOAD].map(entryBytes).concat(utf8('0710'))),
    message: 'What follows a member is shorter than the magic number of an archive',
  },

  // The fields of the header
  ...FIELD_NAMES.map((field, index) => ({
    what: `odd digits in ${field}`,
    image: firstWith({ fields: { [field]: ODD_DIGITS[index % ODD_DIGITS.length] } }),
    message: `The field ${field} of a member's header is not 8 hexadecimal digits`,
    readMax: SMALL,
  })),
  {
    what: 'a checksum',
    image: firstWith({ fields: { check: hex(1) } }),
    message: "The field check of a member's header is not zero",
  },
  { what: 'no name', image: firstWith({ fields: { namesize: hex(0) } }), message: 'A member has no name' },
  { what: 'an empty name', image: firstNamed(''), message: 'A member has no name' },
  {
    what: 'a huge name size',
    image: firstWith({ fields: { namesize: 'ffffffff' } }),
    message: 'The name of a member is longer than 64 bytes',
    readMax: SMALL,
  },
  {
    what: 'a name of 65 bytes',
    image: firstNamed('x'.repeat(65)),
    message: 'The name of a member is longer than 64 bytes',
  },
  {
    what: 'a huge size',
    image: firstWith({ fields: { filesize: 'ffffffff' } }),
    message: 'manifest.json has 4294967295 bytes, not 1 to 65536',
    readMax: SMALL,
  },
  {
    what: 'a size with the highest bit',
    image: firstWith({ fields: { filesize: '80000000' } }),
    message: 'manifest.json has 2147483648 bytes, not 1 to 65536',
    readMax: SMALL,
  },
  {
    what: 'an empty manifest',
    image: firstWith({ bytes: new Uint8Array() }),
    message: 'manifest.json has 0 bytes, not 1 to 65536',
  },
  {
    what: 'a manifest over its bound',
    image: archive([...head(new Uint8Array(65537).fill(32)), ...PAYLOAD]),
    message: 'manifest.json has 65537 bytes, not 1 to 65536',
    readMax: SMALL,
  },
  {
    what: 'an impossible mode',
    image: firstWith({ fields: { mode: 'ffffffff' } }),
    message: 'The member manifest.json has an impossible mode',
  },

  // Names
  { what: 'an absolute name', image: firstNamed('/manifest.json'), message: 'The name /manifest.json is absolute' },
  {
    what: 'a name in the parent directory',
    image: firstNamed('../manifest.json'),
    message: 'The name ../manifest.json leads out of the archive',
  },
  {
    what: 'a name that goes up and down',
    image: firstNamed('a/../manifest.json'),
    message: 'The name a/../manifest.json leads out of the archive',
  },
  { what: 'the parent directory', image: firstNamed('..'), message: 'The name .. leads out of the archive' },
  { what: 'the directory itself', image: firstNamed('.'), message: 'The name . begins with a dot' },
  {
    what: 'a dotted name',
    image: firstNamed('./manifest.json'),
    message: 'The name ./manifest.json begins with a dot',
  },
  { what: 'a hidden name', image: firstNamed('.manifest.json'), message: 'The name .manifest.json begins with a dot' },
  {
    what: 'a name in a directory',
    image: firstNamed('a/manifest.json'),
    message: 'The name a/manifest.json leads into a directory',
  },
  {
    what: 'a name ending in a slash',
    image: firstNamed('manifest.json/'),
    message: 'The name manifest.json/ leads into a directory',
  },
  {
    what: 'a name with a backslash',
    image: firstNamed('..\\manifest.json'),
    message: 'The name ..\\manifest.json begins with a dot',
  },
  {
    what: 'a name with a space',
    image: firstNamed('manifest json'),
    message: 'The name manifest json has characters other than letters, digits, ".", "_" and "-"',
  },
  { what: 'a name with a NUL', image: firstNamed('manifest.json\0.sig'), message: 'The name of a member holds a NUL' },
  {
    what: 'a name with a NUL first',
    image: firstNamed('\0manifest.json'),
    message: 'The name of a member holds a NUL',
  },
  {
    what: 'a name without its NUL',
    image: firstNamed('manifest.json', true),
    message: 'The name of a member does not end in NUL',
  },
  {
    what: 'a name with a control character',
    image: firstNamed('manifest\x1b[2J'),
    message: 'The name of a member holds characters that are not printable ASCII',
  },
  {
    what: 'a name in Latin-1',
    image: firstNamed('m\xe4nifest.json'),
    message: 'The name of a member holds characters that are not printable ASCII',
  },
  {
    what: 'padding of a name that is not zero',
    image: firstWith({ name: 'manifest.jso', namePadding: utf8('x') }),
    message: 'The padding of the name of a member is not zero',
  },
  {
    what: 'padding of a content that is not zero',
    image: archive([...signed(), { ...FIRMWARE, contentPadding: utf8('x') }, ADDON]),
    message: `The padding of the content of ${FIRMWARE.name} is not zero`,
  },

  // Kinds of files
  ...KINDS.map(([mode, what]) => ({
    what: `a member that is ${what}`,
    image: archive([...signed(), { ...FIRMWARE, fields: { mode: hex(mode) } }, ADDON]),
    message: `The member firmware.js is ${what}, not a plain file`,
  })),
  {
    what: 'a symbolic link in the place of the manifest',
    image: firstWith({ bytes: utf8('/etc/passwd'), fields: { mode: hex(0o120777) } }),
    message: 'The member manifest.json is a symbolic link, not a plain file',
  },
  {
    what: 'a hard link',
    image: archive([...signed(), { ...FIRMWARE, fields: { nlink: hex(2) } }, ADDON]),
    message: 'The member firmware.js is a hard link',
  },

  // Order and number of members
  { what: 'only a trailer', image: archive([]), message: 'The image ends where manifest.json is expected' },
  {
    what: 'no signature',
    image: archive([signed()[0]!, ...PAYLOAD]),
    message: 'firmware.js stands where manifest.sig is expected',
  },
  {
    what: 'a manifest alone',
    image: archive([signed()[0]!]),
    message: 'The image ends where manifest.sig is expected',
  },
  {
    what: 'signature before manifest',
    image: archive([...signed().reverse(), ...PAYLOAD]),
    message: 'manifest.sig stands where manifest.json is expected',
  },
  {
    what: 'the manifest twice',
    image: archive([signed()[0]!, ...signed(), ...PAYLOAD]),
    message: 'manifest.json is repeated where manifest.sig is expected',
  },
  {
    what: 'the signature twice',
    image: archive([...signed(), signed()[1]!, ...PAYLOAD]),
    message: 'manifest.sig is repeated where firmware.js is expected',
  },
  {
    what: 'a payload member twice',
    image: archive([...signed(), FIRMWARE, FIRMWARE, ADDON]),
    message: `firmware.js is repeated where ${ADDON.name} is expected`,
  },
  {
    what: 'the last payload member twice',
    image: archive([...signed(), ...PAYLOAD, ADDON]),
    message: `${ADDON.name} is repeated: the image should end there`,
  },
  {
    what: 'payload in another order',
    image: archive([...signed(), ADDON, FIRMWARE]),
    message: `${ADDON.name} stands where firmware.js is expected`,
  },
  {
    what: 'a missing payload member',
    image: archive([...signed(), FIRMWARE]),
    message: `The image ends where ${ADDON.name} is expected`,
  },
  {
    what: 'no payload at all',
    image: archive(signed()),
    message: 'The image ends where firmware.js is expected',
  },
  {
    what: 'a member nobody announced',
    image: archive([...signed(), ...PAYLOAD, { name: 'rootkit.js', bytes: utf8('x') }]),
    message: 'rootkit.js is not in the manifest: the image should end there',
  },
  {
    what: 'a member nobody announced in between',
    image: archive([...signed(), { name: 'rootkit.js', bytes: utf8('x') }, ...PAYLOAD]),
    message: 'rootkit.js stands where firmware.js is expected',
  },

  // The end
  {
    what: 'no trailer',
    image: archive([...signed(), ...PAYLOAD], []).subarray(
      0,
      Buffer.concat([...signed(), ...PAYLOAD].map(entryBytes)).length,
    ),
    message: 'The archive ends without its trailer: it was cut between two members',
  },
  {
    what: 'a trailer with content',
    image: archive([...signed(), ...PAYLOAD], [{ ...TRAILER, bytes: utf8('more') }]),
    message: 'The trailer of the archive has content',
  },
  {
    what: 'data behind the trailer',
    image: Buffer.concat([goodImage(), utf8('more')]),
    message: 'Data follow the trailer of the archive',
  },
  {
    what: 'a second archive behind the trailer',
    image: Buffer.concat([goodImage(), goodImage()]),
    message: 'Data follow the trailer of the archive',
  },
  {
    what: 'endless zeros behind the trailer',
    image: Buffer.concat([goodImage(), new Uint8Array(70 * 1024)]),
    message: 'More than 65536 zeros follow the trailer of the archive',
  },
  { what: 'a cut in the first header', image: cut(60), message: 'The archive ends within the header of a member' },
  { what: 'a cut in a name', image: cut(HEADER + 4), message: 'The archive ends within the name of a member' },
  {
    what: 'a cut in the padding of a name',
    image: entryBytes({ name: 'manifest.jso', bytes: utf8('{}') }).subarray(0, HEADER + 13),
    message: 'The archive ends within the padding of the name of a member',
  },
  {
    what: 'a cut in the manifest',
    image: cut(HEADER + 14 + 20),
    message: 'The archive ends within the content of manifest.json',
  },
  {
    what: 'a cut in a payload',
    image: cut(payloadStart + 8),
    message: 'The archive ends within the content of firmware.js',
  },
  {
    what: 'a cut in the padding of a payload',
    image: archive([...signed(), FIRMWARE]).subarray(0, Math.ceil(payloadStart / 4) * 4 + FIRMWARE.bytes!.length),
    message: 'The archive ends within the padding of the content of firmware.js',
  },

  // The signature
  { what: 'another release key', image: archive([...head(goodManifest(), otherKey), ...PAYLOAD]), message: UNSIGNED },
  {
    what: 'a signature of zeros',
    image: archive([signed()[0]!, { name: 'manifest.sig', bytes: new Uint8Array(64) }, ...PAYLOAD]),
    message: UNSIGNED,
  },
  {
    what: 'one changed bit in the manifest',
    image: firstWith({
      bytes: signed()[0]!.bytes!.map((byte, index) => (index === manifestBytes - 2 ? byte ^ 1 : byte)),
    }),
    message: UNSIGNED,
  },
  {
    what: 'a signature of another manifest',
    image: archive([signed()[0]!, head({ ...goodManifest(), version: '9.0' })[1]!, ...PAYLOAD]),
    message: UNSIGNED,
  },
  {
    what: 'a short signature',
    image: archive([signed()[0]!, { name: 'manifest.sig', bytes: signed()[1]!.bytes!.subarray(0, 63) }, ...PAYLOAD]),
    message: 'manifest.sig has 63 bytes, not 64',
  },
  {
    what: 'a signature in hexadecimal',
    image: archive([signed()[0]!, { name: 'manifest.sig', bytes: utf8('0'.repeat(128)) }, ...PAYLOAD]),
    message: 'manifest.sig has 128 bytes, not 64',
  },

  // The manifest
  {
    what: 'no JSON',
    image: archive([...head(utf8('version: 1.3')), ...PAYLOAD]),
    message: 'The manifest is not JSON in UTF-8, or names a member twice',
  },
  {
    what: 'JSON in Latin-1',
    image: archive([...head(new Uint8Array(Buffer.from('{"product":"\xe4"}', 'latin1'))), ...PAYLOAD]),
    message: 'The manifest is not JSON in UTF-8, or names a member twice',
  },
  {
    what: 'a member twice in the manifest',
    image: archive([...head(utf8(JSON.stringify(goodManifest()).replace('{', '{"version":"9.0.0",'))), ...PAYLOAD]),
    message: 'The manifest is not JSON in UTF-8, or names a member twice',
  },
  {
    what: 'JSON of great depth',
    image: archive([...head(utf8('['.repeat(30_000) + ']'.repeat(30_000))), ...PAYLOAD]),
    message: 'manifest: Invalid input: expected object, received array',
  },
  {
    what: 'an unknown member of the manifest',
    image: withManifest({ script: 'x' }),
    message: 'manifest: unknown member "script"',
  },
  {
    what: 'a manifest without a version',
    image: archive([...head(withoutMember('version')), ...PAYLOAD]),
    message: 'manifest.version: Invalid input: expected string, received undefined',
  },
  {
    what: 'a manifest without a minimum version',
    image: archive([...head(withoutMember('minimumVersion')), ...PAYLOAD]),
    message: 'manifest.minimumVersion: Invalid input: expected string, received undefined',
  },
  {
    what: 'a manifest without release notes',
    image: archive([...head(withoutMember('releaseNotes')), ...PAYLOAD]),
    message: 'manifest.releaseNotes: Invalid input: expected string, received undefined',
  },
  {
    what: 'a version with a leading zero',
    image: withManifest({ version: '01.3' }),
    message: 'manifest.version: not a version MAJOR.MINOR or MAJOR.MINOR.PATCH',
  },
  {
    what: 'a minimum version of one number',
    image: withManifest({ minimumVersion: '1' }),
    message: 'manifest.minimumVersion: not a version MAJOR.MINOR or MAJOR.MINOR.PATCH',
  },
  {
    what: 'a floor that is no version',
    image: withManifest({ rollbackFloor: '1' }),
    message: 'manifest.rollbackFloor: not a version MAJOR.MINOR or MAJOR.MINOR.PATCH',
  },
  {
    what: 'a floor above the version itself',
    image: withManifest({ rollbackFloor: '1.3.1' }),
    message: 'manifest.rollbackFloor: newer than the version itself',
  },
  {
    what: 'release notes over their bound',
    image: withManifest({ releaseNotes: 'x'.repeat(32 * 1024 + 1) }),
    message: 'manifest.releaseNotes: too long',
  },
  { what: 'no members', image: withManifest({ members: [] }), message: 'manifest.members: none' },
  {
    what: 'too many members',
    image: withManifest({ members: Array.from({ length: 17 }, (_, n) => ({ ...member(FIRMWARE), name: `m${n}` })) }),
    message: 'manifest.members: more than 16',
  },
  {
    what: 'a name twice in the manifest',
    image: withManifest({ members: [member(FIRMWARE), member(FIRMWARE)] }),
    message: 'manifest.members: a name appears twice',
  },
  {
    what: 'the manifest among its own members',
    image: withMember({ name: 'manifest.json' }),
    message: 'manifest.members.0.name: no payload may have this name',
  },
  {
    what: 'a path in the manifest',
    image: withMember({ name: '../boot.js' }),
    message: 'manifest.members.0.name: not a plain name',
  },
  {
    what: 'a size over 32 bits that wraps to the right one',
    image: withMember({ size: 2 ** 32 + FIRMWARE.bytes!.length }),
    message: 'manifest.members.0.size: larger than 536870912 bytes',
  },
  {
    what: 'a size that is no safe number',
    image: withMember({ size: 2 ** 60 }),
    message: 'manifest.members.0.size: not a whole number',
  },
  { what: 'a negative size', image: withMember({ size: -1 }), message: 'manifest.members.0.size: negative' },
  {
    what: 'a payload over its bound',
    image: withManifest({ members: [1, 2].map((n) => ({ ...member(FIRMWARE), name: `m${n}`, size: 2 ** 28 + 1 })) }),
    message: 'manifest.members: together larger than 536870912 bytes',
  },
  {
    what: 'a hash in capital letters',
    image: withMember({ sha512: member(FIRMWARE).sha512.toUpperCase() }),
    message: 'manifest.members.0.sha512: not a SHA-512 in lowercase hexadecimal',
  },

  // What it is
  {
    what: 'another product',
    image: withManifest({ product: 'Chest' }),
    message: 'The image is for the product "Chest", not Coffer',
  },
  {
    what: 'an older major version',
    image: withManifest({ version: '0.9' }),
    code: 'conflict',
    message: `Version 0.9 has an older major version than the installed ${INSTALLED}`,
  },
  {
    what: 'a minimum version that is not met',
    image: withManifest({ minimumVersion: '1.2.4' }),
    code: 'conflict',
    message: `Version 1.3.0 needs at least version 1.2.4, not ${INSTALLED}`,
  },

  // The payload
  {
    what: 'a payload of the same size with other content',
    image: archive([...signed(), { ...FIRMWARE, bytes: FIRMWARE.bytes!.map((byte) => byte ^ 1) }, ADDON]),
    message: 'The content of firmware.js does not match the manifest',
  },
  {
    what: 'a last payload with other content',
    image: archive([...signed(), FIRMWARE, { ...ADDON, bytes: new Uint8Array(10_000) }]),
    message: `The content of ${ADDON.name} does not match the manifest`,
  },
  {
    what: 'a payload that is longer than announced',
    image: archive([...signed(), { ...FIRMWARE, bytes: utf8('x'.repeat(20)) }, ADDON]),
    message: `firmware.js has 20 bytes, the manifest says ${FIRMWARE.bytes!.length}`,
  },
  {
    what: 'a payload of 4 GiB',
    image: archive([...signed(), { ...FIRMWARE, fields: { filesize: 'fffffffe' } }, ADDON]),
    message: `firmware.js has 4294967294 bytes, the manifest says ${FIRMWARE.bytes!.length}`,
  },
  {
    what: 'no firmware among the members',
    image: archive([...head({ ...goodManifest(), members: [member(ADDON)] }), ADDON]),
    message: 'The image does not contain firmware.js',
  },
  {
    what: 'no addon for this machine',
    image: archive([...head({ ...goodManifest(), members: [member(FIRMWARE)] }), FIRMWARE]),
    message: `The image does not contain linux-${process.arch}.node`,
  },
]
