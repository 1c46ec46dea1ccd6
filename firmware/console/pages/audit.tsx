/** Shows, exports and verifies the audit log. Verification runs in the browser. Contract section 3.9. */

import { useComputed, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { AuditLine } from '../../client/audit-lines.ts'
import type { Expectations, Verdict } from '../../client/audit-verify.ts'
import type * as T from '../../client/types.ts'
import { Action, Code, Field, member } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { auditDid, auditResultWord, auditTouched } from '../audit-words.ts'
import { chunksOf } from '../chunks.ts'
import { fileTime, time } from '../format.ts'
import { suspendIdle } from '../idle.ts'
import { loadOnDemand } from '../load-on-demand.ts'
import { FileDrop, saveFile } from '../parts/controls.tsx'
import { Card, Columns, Fact, Row, type ViewProps } from '../parts/frame.tsx'
import { Form, Problem, useLoad, Waiting } from '../parts/loading.tsx'
import { keepQuery, route } from '../routes.ts'
import { applianceNow } from '../state.ts'
import * as words from '../words.ts'

const PAGE_LINES = 50
const FILTERS = ['user', 'action', 'key', 'from', 'to'] as const

export const AuditPage = ({ api }: ViewProps) => (
  <>
    <Lines api={api} />
    <Export api={api} />
    <Verify api={api} />
  </>
)

function Lines({ api }: { api: Api }) {
  const older = useSignal<AuditLine[]>([])
  const next = useSignal<number | undefined>(undefined)
  const query = useComputed(() => `${route.value.query}`)
  const path = (before?: number) => {
    const values = new URLSearchParams(query.value)
    for (const name of ['from', 'to']) {
      const value = values.get(name)
      // The browser's field has no time zone and may omit seconds.
      if (value) values.set(name, `${value.length === 16 ? `${value}:00` : value}Z`)
    }
    values.set('limit', `${PAGE_LINES}`)
    if (before !== undefined) values.set('before', `${before}`)
    return `/audit?${values}`
  }
  const first = useLoad(async () => {
    const page = await api.get<T.AuditPage>(path())
    older.value = []
    next.value = page.next
    return page
  }, [query.value])
  const run = useRun()
  const draft = useSignal(Object.fromEntries(FILTERS.map((name) => [name, route.value.query.get(name) ?? ''])))
  const more = () =>
    run.start(words.loading, async () => {
      const page = await api.get<T.AuditPage>(path(next.value))
      older.value = [...older.value, ...page.lines]
      next.value = page.next
    })
  return (
    <Card>
      <details open={query.value !== ''}>
        <summary>{words.auditFilter}</summary>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            keepQuery(draft.value)
          }}
        >
          <div class="grid">
            {FILTERS.map((name) => (
              <Field
                key={name}
                label={words.auditFields[name]}
                type={name === 'from' || name === 'to' ? 'datetime-local' : 'text'}
                step={1}
                bind={member(draft, name)}
              />
            ))}
          </div>
          <Row>
            <Action submit>{words.show}</Action>
          </Row>
        </form>
      </details>
      <Waiting of={first} />
      {first.value.value !== null &&
        (first.value.value.lines.length === 0 ? (
          <p>{words.auditNone}</p>
        ) : (
          <AuditTable lines={[...first.value.value.lines, ...older.value]} caption={words.auditCaption} />
        ))}
      <Problem error={run.error.value} />
      {next.value !== undefined && (
        <Row>
          <Action busy={run.busy.value} onClick={more}>
            {words.auditMore}
          </Action>
        </Row>
      )}
    </Card>
  )
}

export function AuditTable({ lines, caption }: { lines: readonly AuditLine[]; caption: string }) {
  return (
    <table class="audit">
      <caption>{caption}</caption>
      <Columns names={[words.auditTime, words.auditWho, words.auditWhat, words.auditResult]} />
      <tbody>
        {lines.map((line) => (
          <tr key={line.sequence}>
            <td class="time">{time(line.time)}</td>
            <td>
              {line.user === '' ? words.auditNobody : <span class="id">{line.user}</span>}{' '}
              <small>{line.address && words.auditFromAddress(line.address)}</small>
            </td>
            <td class="what">
              <details>
                <summary>
                  {auditDid(line)} <span class="id">{auditTouched(line).join(', ')}</span>
                </summary>
                <Code label={words.auditJson(line.sequence)} text={JSON.stringify(line, null, 2)} />
              </details>
              {line.skipped !== undefined && <small>{words.auditSkipped(line.skipped)}</small>}
            </td>
            <td class="result">{auditResultWord(line.result)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Export({ api }: { api: Api }) {
  const run = useRun()
  const start = () =>
    run.start(words.auditExporting(0), () =>
      suspendIdle(async () => {
        const answer = await api.call('GET', '/audit/export')
        let bytes = 0
        const parts: BlobPart[] = []
        for await (const chunk of chunksOf(answer.body)) {
          parts.push(chunk)
          bytes += chunk.length
          run.say(words.auditExporting(bytes))
        }
        saveFile(new Blob(parts), `coffer-audit-${fileTime(applianceNow())}.jsonl`)
      }),
    )
  return (
    <Card title={words.auditExport}>
      <Problem error={run.error.value} />
      <Row>
        <Action busy={run.busy.value} onClick={start}>
          {words.auditExport}
        </Action>
      </Row>
    </Card>
  )
}

function Verify({ api }: { api: Api }) {
  const file = useSignal<File | null>(null)
  const number = useSignal('')
  const hash = useSignal('')
  const key = useSignal('')
  const incomplete = useSignal(false)
  const verdict = useSignal<Verdict | null>(null)
  const stop = useRef<AbortController | null>(null)
  const run = useRun()
  const start = () => {
    incomplete.value = (number.value === '') !== (hash.value === '')
    if (incomplete.value) return
    verdict.value = null
    const controller = new AbortController()
    stop.current = controller
    void run.start(words.auditVerifying(0), () =>
      suspendIdle(async () => {
        const { signal } = controller
        const body = file.value?.stream() ?? (await api.call('GET', '/audit/export', { signal })).body
        const expectations: Expectations = {
          known: new Map(number.value === '' ? [] : [[Number(number.value), hash.value.trim().toLowerCase()]]),
          ...(key.value !== '' && { key: key.value.trim().toLowerCase() }),
        }
        const seen = (lines: number) => run.say(words.auditVerifying(lines))
        const { verifyExport } = await loadOnDemand()
        verdict.value = await verifyExport(counted(body, seen, signal), expectations)
      }),
    )
  }
  return (
    <Card title={words.verify}>
      <p>{words.auditVerifyText}</p>
      <Form
        run={run}
        submit={start}
        action={words.verify}
        beside={run.busy.value !== false && <Action onClick={() => stop.current?.abort()}>{words.cancel}</Action>}
      >
        <FileDrop label={words.auditVerifyFile} bind={file} />
        <div class="grid">
          <Field
            label={words.auditKnown}
            bind={number}
            inputmode="numeric"
            pattern="[0-9]*"
            error={incomplete.value ? words.auditKnownBoth : undefined}
          />
          <Field label={words.auditKnownHash} class="id" bind={hash} />
          <Field label={words.auditKeyNoted} class="id" bind={key} />
        </div>
      </Form>
      <div role="status">{verdict.value !== null && <Judgement verdict={verdict.value} />}</div>
    </Card>
  )
}

function Judgement({ verdict: { problems, notes, head, lines, overwritten } }: { verdict: Verdict }) {
  if (problems.length > 0 || head === null)
    return (
      <div class="notice bad">
        <strong>{words.auditBad}</strong>
        <ul class="steps">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      </div>
    )
  return (
    <div class="notice good">
      <strong>{words.auditGood(lines, head.first, head.sequence)}</strong>
      {overwritten > 0 && <p>{words.auditOverwritten(overwritten)}</p>}
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <p>{words.auditNote}</p>
      <dl class="facts">
        <Fact mono name={words.auditKnown}>
          {head.sequence}
        </Fact>
        <Fact mono name={words.auditKnownHash}>
          {head.hash}
        </Fact>
        <Fact mono name={words.auditKeyNoted}>
          {head.key}
        </Fact>
      </dl>
    </div>
  )
}

const TELL_MS = 100 // interval at which progress is drawn

async function* counted(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  seen: (lines: number) => void,
  signal: AbortSignal,
) {
  let lines = 0
  let until = performance.now() + TELL_MS
  for await (const chunk of chunksOf(body)) {
    signal.throwIfAborted()
    yield chunk
    for (const byte of chunk) if (byte === LINE_FEED) lines++
    if (performance.now() < until) continue
    seen(lines)
    await new Promise((done) => setTimeout(done))
    until = performance.now() + TELL_MS
  }
}

const LINE_FEED = 0x0a
