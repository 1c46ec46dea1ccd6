/** Every path that a page or a comment names is in this repository, from its root or from a folder in it; so is every page cited. */

import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TOKENS } from '../../tools/words.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Paths with a known ending, and those from a top folder. Addresses, placeholders and patterns are none. */
const PATH =
  /(?<![\w./:@<>{}$*?=-])(?:\.\.?\/)*(?:(?:[\w@.-]+\/)*[\w@.-]+\.(?:tsx?|mjs|js|mts|md|py|go|json|css|html|ya?ml|sh|txt)|(?:firmware|boot|tools|test|image|\.ci|\.github)\/[\w./-]*\w)(?![\w*<{-])/g

/** Names of files that are elsewhere, and words of the same form. */
const ELSEWHERE = [
  /^dist\//, // made by `make build`
  /^(?:boot|device|firmware|chat|outgoing|worker)\.js$/, // in dist/
  /^(?:coffer\.mjs|packages\.json|LICENSES\.txt|appliance\.json)$/, // in dist/ and dist/bench/
  /^(?:keys|searches)\.json$/, // in the directory of a run of the benchmark
  /^(?:manifest\.json|coffer-[\d.]+\.cdx\.json)$/, // in exports, images and beside them
  /^(?:index|notes)\.txt$/, // in a directory of the user
  /^(?:src\/tests\/)?container_cluster_test\.sh$/, // NetHSM's
  /^(?:image-layout|manifest|config|layer)\.md$/, // of the OCI image specification
  /^api\/v3rpc\/rpctypes\/error\.go$/, // etcd's
  /^(?:Node|TweetNaCl|highlight)\.js$/,
  /^sqlite\.org\//,
  /^vuln\.go$/, // a host
  /^image\/(?:png|jpeg|gif|webp|svg|apng|avif|bmp)$/, // media types
]

const FILES = globSync(['*', '{.ci,.github,boot,firmware,image,test,tools}/**'], { cwd: ROOT }).filter(
  (path) => !path.includes('node_modules') && statSync(join(ROOT, path)).isFile(),
)

/** Each file and folder by its path from the root and from each folder above it. */
const places = new Set(
  FILES.flatMap((path) => {
    const parts = path.split('/')
    return parts.flatMap((_, from) => parts.slice(from).map((_, end) => parts.slice(from, from + end + 1).join('/')))
  }),
)

/** Prose of a file: comments of sources, pages without blocks of commands, which make files of their own. */
function proseOf(path: string): string[] {
  const read = () => readFileSync(join(ROOT, path), 'utf8')
  if (/\.(?:ts|tsx|mjs)$/.test(path)) return [...read().matchAll(TOKENS)].map(([token]) => token).filter(isComment)
  if (path.endsWith('.md')) return path.includes('/payloads/') ? [] : [read().replace(/^```[\s\S]*?^```/gm, '')]
  const isScript = /^(?:Makefile$|\.ci\/|\.github\/)|\.(?:py|sh|ya?ml)$/.test(path)
  return isScript
    ? read()
        .split('\n')
        .filter((line) => /^\s*#/.test(line))
    : []
}

const isComment = (token: string): boolean => /^\/[/*]/.test(token)

test('every path in a page or a comment exists', () => {
  const missing: string[] = []
  let named = 0
  for (const file of FILES) {
    for (const [path] of proseOf(file).flatMap((prose) => [...prose.matchAll(PATH)])) {
      named++
      const plain = path.replace(/^(?:\.\.?\/)+/, '')
      if (!places.has(plain) && !ELSEWHERE.some((pattern) => pattern.test(plain))) missing.push(`${file}: ${path}`)
    }
  }
  assert.deepEqual(missing, [])
  assert.ok(named > 500, `only ${named} were found`)
})

test('each exception is needed', () => {
  const all = FILES.flatMap((file) => proseOf(file).flatMap((prose) => [...prose.matchAll(PATH)].map(([path]) => path)))
  for (const pattern of ELSEWHERE)
    assert.ok(
      all.some((path) => pattern.test(path)),
      `nothing is named like ${pattern}`,
    )
})

test('no page or comment cites a page that a clone lacks', () => {
  const cited = FILES.filter((path) => /\.(?:tsx?|mjs|md|css)$/.test(path) && !path.includes('/payloads/')).filter(
    (path) => /\b[Dd]esign \d/.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  assert.deepEqual(cited, [])
})
