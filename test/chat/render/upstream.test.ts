import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, upstreamCases } from './support.ts'

const cases = upstreamCases()

/** Where the contract (section 6) says otherwise than upstream did at level 372. */
const DIFFERENT: Record<string, string> = {
  // 451: a time that cannot be read is shown as it was typed.
  timestamp_invalid_input: '<p>&lt;time:&lt;alert(1)&gt;&gt;</p>',
  timestamp_incorrect: '<p>&lt;time:**hello world**&gt;</p>',
  timestamp_invalid_timezone: '<p>&lt;time:1969-12-31T00:00:00+32:00&gt;</p>',
  timestamp_unix_overflow: "<p>Let's meet at &lt;time:1234567890123&gt;.</p>",
  // 503: ISO 8601 alone is a time.
  timestamp_backend_markdown_and_marked: '<p>&lt;time:31 Dec 2017&gt;</p>',
  timestamp_timezone: '<p>&lt;time:31 Dec 2017 5:30 am IST&gt;</p>',
  timestamp_unix: "<p>Let's meet at &lt;time:1496701800&gt;.</p>",
}

for (const { name, input, expected_output, translate_emoticons } of cases?.regular_tests ?? [])
  test(`renders upstream's case ${name}`, () => {
    const wanted = DIFFERENT[name] ?? comparable(expected_output)
    assert.equal(comparable(html(input, { translateEmoticons: translate_emoticons ?? false })), wanted)
  })

for (const [text, pattern, target] of cases?.linkify_tests ?? [])
  test(`finds the links in ${JSON.stringify(text.slice(0, 60))}`, () => {
    const href = target.includes('@') ? `mailto:${target}` : /^https?:/.test(target) ? target : `http://${target}`
    assert.equal(
      html(text, { imagePreviews: false }),
      pattern.replace('%s', () => `<a href="${href}">${target}</a>`),
    )
  })

test('has upstream cases to compare with', { skip: cases === null && 'no vectors here' }, () => {
  assert.ok(cases!.regular_tests.length > 100 && cases!.linkify_tests.length > 40)
  const known = new Set(cases!.regular_tests.map(({ name }) => name))
  for (const name of Object.keys(DIFFERENT)) assert.ok(known.has(name), `${name} is no case`)
})

/** Removes what may differ: colors of code, the inside of formulas, the proxy that upstream puts before pictures. */
function comparable(output: string): string {
  return withoutFormulas(output)
    .replace(/(<code>)(.*?)(<\/code>)/gs, (_, open, code, close) => open + code.replace(/<\/?span[^>]*>/g, '') + close)
    .replace(/https:\/\/external-content\.zulipcdn\.net\/external_content\/[0-9a-f]+\/([0-9a-f]+)/g, (_, address) =>
      Buffer.from(address, 'hex').toString(),
    )
}

/** Compares formulas by their source, which KaTeX repeats in its output. */
function withoutFormulas(output: string): string {
  return output.replace(
    /<span class="katex"><span class="katex-mathml">.*?(<annotation [^>]*>.*?<\/annotation>).*?<span class="katex-html" aria-hidden="true">.*?(?=<\/span>(?:<\/span>)?(?:\)?<\/p>))/gs,
    '<span class="katex">$1',
  )
}
