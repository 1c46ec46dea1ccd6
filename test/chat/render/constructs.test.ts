import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './support.ts'

/** Section 6 of the contract beyond what upstream's cases have. */
const CASES: [string, string][] = [
  ['a\nb', '<p>a<br>\nb</p>'],
  ['---', '<hr>'],
  ['a\n***\nb', '<p>a</p>\n<hr>\n<p>b</p>'],
  ['> q\nmore\n\nend', '<blockquote>\n<p>q<br>\nmore</p>\n</blockquote>\n<p>end</p>'],
  ['a\n> q', '<p>a</p>\n<blockquote>\n<p>q</p>\n</blockquote>'],
  ['* # h\n* b', '<ul>\n<li>\n<h1>h</h1>\n</li>\n<li>b</li>\n</ul>'],
  ['# a \\#', '<h1>a \\#</h1>'],
  ['## a ##', '<h2>a</h2>'],
  ['# a\\', '<p># a\\</p>'],
  [
    'a|b\n:-:|--:\nx|`y|z`',
    '<table>\n<thead>\n<tr>\n<th style="text-align: center;">a</th>\n<th style="text-align: right;">b</th>\n</tr>\n</thead>\n' +
      '<tbody>\n<tr>\n<td style="text-align: center;">x</td>\n<td style="text-align: right;"><code>y|z</code></td>\n</tr>\n' +
      '</tbody>\n</table>',
  ],
  [
    '```JS\n1 < 2\n```',
    '<div class="codehilite" data-code-language="JavaScript"><pre><span></span><code>1 &lt; 2\n</code></pre></div>',
  ],
  ['`a & &amp; <b>`', '<p><code>a &amp; &amp;amp; &lt;b&gt;</code></p>'],
  ['\\`a`', '<p>\\`a`</p>'],
  ['\\\\`a`', '<p>\\<code>a</code></p>'],
  ['**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
  ['***a* b*', '<p>*<em><em>a</em> b</em></p>'],
  [
    '<time:2017-06-05T22:30:00.5Z>',
    '<p><time datetime="2017-06-05T22:30:00.500000Z">2017-06-05T22:30:00.5Z</time></p>',
  ],
  ['<time:2017-06-05T22:30:00+02:00>', '<p><time datetime="2017-06-05T20:30:00Z">2017-06-05T22:30:00+02:00</time></p>'],
  ['<time:20170605T2230-0330>', '<p><time datetime="2017-06-06T02:00:00Z">20170605T2230-0330</time></p>'],
  ['<time:2017-12-31>', '<p><time datetime="2017-12-31T00:00:00Z">2017-12-31</time></p>'],
  // What other forms upstream read before level 503 is literal text.
  ['<time:1496701800>', '<p>&lt;time:1496701800&gt;</p>'],
  ['<time:June 5th, 2017 10:30 pm EST>', '<p>&lt;time:June 5th, 2017 10:30 pm EST&gt;</p>'],
  ['<time:12/31/2017 23:59>', '<p>&lt;time:12/31/2017 23:59&gt;</p>'],
  ['<time:2017-12-31 23:59>', '<p>&lt;time:2017-12-31 23:59&gt;</p>'],
  ['<time:2017-02-31>', '<p>&lt;time:2017-02-31&gt;</p>'],
  ['<time:2017-12-31T23:59+24:00>', '<p>&lt;time:2017-12-31T23:59+24:00&gt;</p>'],
  ['<time:2017-1231>', '<p>&lt;time:2017-1231&gt;</p>'],
  ['<time:31 Feb 2017>', '<p>&lt;time:31 Feb 2017&gt;</p>'],
  ['<time:10:30>', '<p>&lt;time:10:30&gt;</p>'],
  ['[a](/user_uploads/2/ab/x/paper.pdf)', '<p><a href="/user_uploads/2/ab/x/paper.pdf">a</a></p>'],
  ['[a](<http://b c> "t")', '<p><a href="http://b%20c" title="t">a</a></p>'],
  ['[a](http://b "t (u)")', '<p><a href="http://b" title="t (u)">a</a></p>'],
  ['[a](http://b(c)d)', '<p><a href="http://b(c)d">a</a></p>'],
  ['[a [b] c](http://d)', '<p><a href="http://d">a [b] c</a></p>'],
  ['[`a`](http://d)', '<p><a href="http://d"><code>a</code></a></p>'],
  ['[a](vbscript:b)', '<p>[a](vbscript:b)</p>'],
  ['[a](java\tscript:b)', '<p><a href="http://java%20%20%20%20script:b">a</a></p>'],
  ['[a](http://[b)', '<p>[a](http://[b)</p>'],
  [
    ':green_tick:',
    '<p><img alt=":green_tick:" class="emoji" src="/user_avatars/2/emoji/images/1.png" title="green tick"></p>',
  ],
  [
    'see #12, (lib#3)',
    '<p>see <a href="https://trac.example.com/ticket/12">#12</a>, (<a href="https://git.example.com/lib/3">lib#3</a>)</p>',
  ],
  ['`#12` [#13](http://a)', '<p><code>#12</code> <a href="http://a">#13</a></p>'],
  ['$$a', '<p>$$a</p>'],
  ['a$$b$$', '<p>a$$b$$</p>'],
  ['$$\\nothing$$', '<p><span class="tex-error">$$\\nothing$$</span></p>'],
  ['/me waves', '<p>/me waves</p>'],
  ['a\u0002b\uFDD11\uFDD2', '<p>ab1</p>'],
]

for (const [text, wanted] of CASES)
  test(`renders ${JSON.stringify(text)}`, () => {
    assert.equal(html(text), wanted)
  })

test('a fence without a language takes that of the organization', () => {
  assert.match(html('```\nx\n```', { codeLanguage: 'python' }), /data-code-language="Python"/)
  assert.match(html('```text\nx\n```', { codeLanguage: 'python' }), /data-code-language="Text only"/)
})

test('emoticons are emoji only if the author wants that', () => {
  assert.equal(html('<3'), '<p>&lt;3</p>')
  assert.match(html('<3', { translateEmoticons: true }), /emoji-2764/)
})

test('many formulas are shown as they were typed once they would take long', () => {
  const text = Array.from({ length: 300 }, (_, index) => `$$x_{${index}}$$`).join(' ')
  const output = html(text)
  assert.ok(output.includes('class="katex"'))
  assert.match(output, /<span class="tex-error">\$\$x_\{299\}\$\$<\/span>/)
})
