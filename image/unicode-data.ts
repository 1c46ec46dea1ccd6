/**
 * Node without most of the data of its Unicode library, a third of the program: like a Node built with `small-icu` it
 * keeps what is of no language, and English. ICU 78: UDataInfo in unicode/udata.h, the table of a package in ucmndata.cpp.
 */

const MAGIC = Buffer.from([0xda, 0x27])
const MAGIC_AT = 2 // behind the size of the header
const PACKAGE = 'CmnD'
const PACKAGE_AT = 12
const ITEM_BYTES = 8 // where its name is, where its data

/** Converters of old character sets, words of scripts that have no spaces, and what only names of things are made with. */
const UNUSED = [/\.(?:cnv|dict)$/, /^(?:lang|rbnf|region|translit|unit)\//]
const LANGUAGE = /(?:^|\/)(?!en[._]|res_index\.)[a-z]{2,3}(?:_\w*)?\.res$/

interface Item {
  /** Both as the table has them: counted from its beginning. */
  name: number
  data: number
}

/** `node` is the program for a little-endian machine. Throws an Error when it has no such data, or has them twice. */
export function withoutLanguages(node: Buffer): Buffer {
  const copy = Buffer.from(node)
  const table = copy.subarray(findTable(copy))
  const count = table.readUInt32LE(0)
  const items = Array.from({ length: count }, (_, index): Item => {
    const at = 4 + index * ITEM_BYTES
    return { name: table.readUInt32LE(at), data: table.readUInt32LE(at + 4) }
  })
  const kept: Item[] = []
  for (const [index, item] of items.entries()) {
    const path = table.toString('latin1', item.name, table.indexOf(0, item.name))
    if (isKept(path.slice(path.indexOf('/') + 1))) kept.push(item)
    else table.fill(0, item.data, items[index + 1]?.data ?? item.data) // where the last one ends is not said
  }
  // Still in the order of their names, by which ICU finds them.
  table.writeUInt32LE(kept.length, 0)
  table.fill(0, 4, 4 + count * ITEM_BYTES)
  for (const [index, { name, data }] of kept.entries()) {
    table.writeUInt32LE(name, 4 + index * ITEM_BYTES)
    table.writeUInt32LE(data, 4 + index * ITEM_BYTES + 4)
  }
  return copy
}

const isKept = (path: string): boolean => ![...UNUSED, LANGUAGE].some((pattern) => pattern.test(path))

function findTable(file: Buffer): number {
  const tables: number[] = []
  for (let at = file.indexOf(PACKAGE); at !== -1; at = file.indexOf(PACKAGE, at + 1)) {
    const header = at - PACKAGE_AT
    if (file.subarray(header + MAGIC_AT, header + MAGIC_AT + MAGIC.length).equals(MAGIC))
      tables.push(header + file.readUInt16LE(header))
  }
  const [table] = tables
  if (table === undefined || tables.length > 1) throw new Error(`Node has data of ICU ${tables.length} times, not once`)
  return table
}
