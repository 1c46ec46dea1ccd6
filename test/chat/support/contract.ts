/** Tables of the chat's contract, so that a test can hold the code against the page itself. */

import { readFileSync } from 'node:fs'

const page = readFileSync(new URL('../../../firmware/chat/CONTRACT.md', import.meta.url), 'utf8')

/** The rows below the heading with this number, each a list of its cells without Markdown's stars and back quotes. */
export function contractTable(section: string): string[][] {
  const start = page.search(new RegExp(`^#+ ${section.replaceAll('.', '\\.')}[ :]`, 'm'))
  if (start < 0) throw new Error(`the contract has no section ${section}`)
  const body = page.slice(start).split(/\n(?=#)/)[0]!
  return body
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.replaceAll(/[*`]/g, '').trim()),
    )
}
