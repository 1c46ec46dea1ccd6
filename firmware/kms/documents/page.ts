/** Renders the API documents as a web page, without scripts or external resources. */

import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { curlExample } from './curl.ts'
import type { JsonSchema } from './json-schema.ts'
import type { ApiInfo, Content, OpenApi, OpenApiOperation } from './openapi.ts'

type Html = ReturnType<typeof raw>

export function documentPage(model: OpenApi, others: ApiInfo['others'] = []): string {
  const { info, servers, tags, paths, components } = model
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const base = servers[0]?.url ?? ''
  return page(
    `${info.title} API`,
    html`<header>
<h1>${info.title} API</h1>
<p>${info.contact.name}, version ${info.version}. Paths are relative to <code>${base}</code>.</p>
<p>${prose(info.description)}</p>
<p>In the examples <code>$coffer</code> is the address of the API, as in
<code>coffer=https://192.168.1.1:8443${base}</code>, and curl asks for the passphrase of the user. While the certificate is
signed by itself, curl wants <code>--insecure</code> and, from the console or the log, the fingerprint of the key:
<code>--pinnedpubkey</code>.</p>
<p>Machine-readable: <a href="${base}/openapi.json">OpenAPI as JSON</a>, <a href="${base}/openapi.yaml">as YAML</a>,
<a href="${base}/api.raml">RAML</a>.</p>
${others.map(({ name, path }) => html`<p>${name}: <a href="${path}">OpenAPI as JSON</a>.</p>`)}
</header>
<nav><ul>${tags.map(({ name }) => html`<li><a href="#${name}">${name}</a></li>`)}<li><a href="#types">types</a></li></ul></nav>
<main>
${tags.map(
  ({ name }) => html`<section id="${name}"><h2>${name}</h2>
${operations.filter(({ operation }) => operation.tags.includes(name)).map((found) => operationOf(found, model))}</section>
`,
)}
<section id="types"><h2>types</h2>
${Object.entries(components.schemas).map(
  ([name, schema]) => html`<article id="type-${name}"><h3>${name}</h3>${schemaOf(schema)}</article>
`,
)}</section>
</main>`,
  )
}

const page = (title: string, content: unknown): string =>
  String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
${content}
</body>
</html>
`)

interface Found {
  path: string
  method: string
  operation: OpenApiOperation
}

function operationOf({ path, method, operation }: Found, model: OpenApi): Html {
  const { parameters = [], requestBody, responses } = operation
  return html`<article id="${operation.operationId}">
<h3><span class="method">${method}</span> <code>${path}</code></h3>
<p>${prose(operation.summary)}</p>
<p class="access">${prose(operation.description)}</p>
<pre><code>${curlExample(method, path, operation, model)}</code></pre>
${
  parameters.length > 0
    ? table(
        ['Parameter', 'In', 'Type'],
        parameters.map((p) => [code(p.name), p.in, schemaOf(p.schema)]),
      )
    : ''
}
${requestBody === undefined ? '' : html`<h4>Request</h4>${contentOf(requestBody.content)}`}
<h4>Answers</h4>
${table(
  ['Status', 'Meaning', 'Body'],
  Object.entries(responses).map(([status, { description, content }]) => [
    status,
    prose(description),
    content === undefined ? '' : contentOf(content),
  ]),
)}
</article>
` as Html
}

const contentOf = (content: Content): Html =>
  html`${Object.entries(content).map(([type, { schema }]) => html`<p><code>${type}</code></p>${schemaOf(schema)}`)}` as Html

const COMPONENT = /^#\/components\/schemas\//

function schemaOf(schema: JsonSchema): Html {
  const note = schema.description === undefined ? '' : html` ${prose(schema.description)}`
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace(COMPONENT, '')
    return html`<a href="#type-${name}">${name}</a>${note}` as Html
  }
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined)
    return html`One of: ${variants.map((v) => html`<div>${schemaOf(v)}</div>`)}${note}` as Html
  if (schema.enum !== undefined)
    return html`${schema.enum.map((value) => html`${code(String(value))} `)}${note}` as Html
  if (schema.const !== undefined) return html`${code(String(schema.const))}${note}` as Html
  if (schema.type === 'array') return html`list of ${schemaOf(schema.items ?? {})}${note}` as Html
  if (schema.type === 'object' && schema.properties !== undefined) {
    const rows = Object.entries(schema.properties).map(([name, member]) => [
      code(name),
      schema.required?.includes(name) ? 'yes' : 'no',
      schemaOf(member),
    ])
    return html`${note}${table(['Member', 'Required', 'Type'], rows)}` as Html
  }
  return html`${schema.type ?? 'any'}${bounds(schema)}${note}` as Html
}

function bounds(schema: JsonSchema): string {
  const { format, contentEncoding, minLength, maxLength, minimum, maximum, pattern } = schema
  const parts = [
    contentEncoding,
    format,
    minLength !== undefined && `at least ${minLength} long`,
    maxLength !== undefined && `at most ${maxLength} long`,
    minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && `at least ${minimum}`,
    maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && `at most ${maximum}`,
    pattern !== undefined && `matching ${pattern}`,
  ]
  const text = parts.filter(Boolean).join(', ')
  return text === '' ? '' : `, ${text}`
}

const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : part))}` as Html

const code = (text: string): Html => html`<code>${text}</code>` as Html

const table = (head: readonly string[], rows: readonly (readonly (string | Html)[])[]): Html =>
  html`<table><thead><tr>${head.map((cell) => html`<th>${cell}</th>`)}</tr></thead><tbody>
${rows.map(
  (row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}</tbody></table>` as Html

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #06c; }
@media (prefers-color-scheme: dark) { :root { --accent: #6bf; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 64rem; padding: 1rem; }
a { color: var(--accent); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; }
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h2 { margin: 2rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: .5rem 0; overflow-wrap: anywhere; }
h4 { font-size: .95rem; margin: .75rem 0 .25rem; }
.method { border: 1px solid var(--line); border-radius: .25rem; font: bold .8rem monospace; padding: .1rem .4rem; }
.access { opacity: .8; }
code { background: var(--soft); overflow-wrap: anywhere; }
pre { background: var(--soft); margin: .5rem 0; padding: .5rem; white-space: pre-wrap; }
pre code { background: none; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .5rem; text-align: left; vertical-align: top; }
td p { margin: 0; }
@media (max-width: 40rem) {
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  td { border: 0; padding: .1rem 0 .1rem .5rem; overflow-wrap: anywhere; }
  tr { border-bottom: 1px solid var(--line); padding: .2rem 0; }
}
`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')
