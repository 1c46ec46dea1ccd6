/** The project's pages: what they link to is there, and so are the sections of the contract that code and tests cite. */

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const PAGES = globSync(['*.md', '{firmware,boot,image,tools,test}/**/*.md'], { cwd: root })
const README_LINES_MAX = 120 // two screens: what it is, the first success, where to read on

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Anchor of a heading as GitHub makes it: lower case, words joined by hyphens, other characters removed. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (page: string): Set<string> =>
  new Set([...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading!)))

const linksOf = (page: string): string[] =>
  [
    ...read(page)
      .replace(/^```[\s\S]*?^```$|`[^`\n]*`/gm, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target))

test('the links of every page lead somewhere', () => {
  assert.ok(PAGES.includes('README.md') && PAGES.includes('image/SECURITY.md'), 'the pages were found')
  for (const page of PAGES) {
    for (const link of linksOf(page)) {
      const [path = '', fragment] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      assert.ok(globSync(target, { cwd: root }).length > 0, `${page}: ${link}`)
      if (fragment !== undefined) assert.ok(anchorsOf(target).has(fragment), `${page}: ${link}`)
    }
  }
})

test('the answers to what newcomers ask are files', () => {
  const answers = [...read('CONTRIBUTING.md').matchAll(/^\| [^|]*\? \| `([^`]+)`/gm)].map(([, path]) => path!)
  assert.equal(answers.length, 6)
  for (const path of answers) assert.ok(existsSync(join(root, path)), path)
})

test('README.md is short', () => {
  const lines = read('README.md').trimEnd().split('\n').length
  assert.ok(lines <= README_LINES_MAX, `${lines} lines: details go on the page beside the code`)
})

test('every section of the contract that code and tests cite is there', () => {
  const sectionsOf = (contract: string) =>
    // Decisions are rows of a table, each with a number of its own.
    new Set([...read(contract).matchAll(/^(?:##+|\|) (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number!))
  const ofChat = sectionsOf('firmware/chat/CONTRACT.md')
  const ofKms = sectionsOf('firmware/kms/CONTRACT.md')
  const sources = globSync('{firmware,boot,image,tools,test}/**/*.ts', { cwd: root })
  let cited = 0
  for (const source of sources) {
    const sections = /^((firmware|test)\/chat(-page)?\/|tools\/attack\/chat-)/.test(source) ? ofChat : ofKms // services have a contract each
    for (const [citation, list] of read(source).matchAll(/\bcontract (?:sections? )?(\d[\d., andto]*)/gi)) {
      for (const [number] of list!.matchAll(/\d+(?:\.\d+)?/g)) {
        cited++
        assert.ok(sections.has(number), `${source}: ${citation}`)
      }
    }
  }
  assert.ok(cited >= 100, `only ${cited} were found`)
})
