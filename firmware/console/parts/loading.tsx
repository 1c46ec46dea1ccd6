/** Loads data for views and runs actions of buttons. Errors are shown where they occur. */

import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import { Action, Dialog, Field } from '../../web/controls.tsx'
import { type Run, useRun } from '../../web/run.ts'
import { holdView } from '../idle.ts'
import * as words from '../words.ts'
import { FileDrop } from './controls.tsx'
import { Card } from './frame.tsx'

export interface Loaded<T> {
  readonly value: Signal<T | null>
  readonly error: ReadonlySignal<unknown>
  readonly loading: ReadonlySignal<boolean>
  reload(): void
}

/** Loads when the view opens and when `depends` changes. Drops answers that arrive too late. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, depends: readonly unknown[]): Loaded<T> {
  const value = useSignal<T | null>(null)
  const error = useSignal<unknown>(null)
  const loading = useSignal(true)
  const round = useSignal(0)
  const reload = useCallback(() => {
    round.value++
  }, [round])
  useEffect(() => {
    const controller = new AbortController()
    loading.value = true
    load(controller.signal).then(
      (loaded) => {
        if (controller.signal.aborted) return
        value.value = loaded
        error.value = null
        loading.value = false
      },
      (problem: unknown) => {
        if (controller.signal.aborted) return
        error.value = problem
        loading.value = false
      },
    )
    return () => controller.abort()
  }, [...depends, round.value])
  return { value, error, loading, reload }
}

/** The user canceled. Shown as a message, not as an error. */
export class Canceled extends Error {}

/** Shows an error with the appliance's message and its status. */
export function Problem({ error, also }: { error: unknown; also?: ComponentChildren }) {
  return <div role="alert">{error ? <Notice error={error} also={also} /> : null}</div>
}

/** Message of a failed `if-match`. Other refusals with 412 have messages of their own. */
const CONDITION_FAILED = 'A precondition of the request is not met'

function Notice({ error, also }: { error: unknown; also: ComponentChildren }) {
  if (error instanceof Canceled) return <div class="notice">{error.message}</div>
  const status = error instanceof ApiError ? error.status : null
  const text =
    status === 412 && (error as ApiError).message === CONDITION_FAILED
      ? words.problemChanged
      : error instanceof TypeError
        ? words.problemOffline
        : error instanceof Error
          ? error.message
          : String(error)
  return (
    <div class="notice bad">
      <strong>{words.problemTitle}</strong>
      <p>
        {text} {status === 409 && words.problemTaken}
      </p>
      {status !== null && <small>{words.problemStatus(status)}</small>}
      {also}
    </div>
  )
}

/** Placeholder while data loads; the error with a retry button if that fails. */
export function Waiting({ of: loaded }: { of: Loaded<unknown> }) {
  if (loaded.error.value)
    return <Problem error={loaded.error.value} also={<Action onClick={loaded.reload}>{words.again}</Action>} />
  return loaded.value.value === null ? <p class="hint">{words.loading}</p> : null
}

/** A form with its button, its progress and its error. */
export function Form(props: {
  run: Run
  submit: () => unknown
  action: ComponentChildren
  kind?: string
  beside?: ComponentChildren
  said?: string | false
  problem?: ComponentChildren
  children: ComponentChildren
}) {
  const { run, submit, action, kind = 'primary', beside, said, problem, children } = props
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {children}
      {problem ?? <Problem error={run.error.value} />}
      <div class="row">
        <Action submit kind={kind} busy={run.busy.value}>
          {action}
        </Action>
        {beside}
        <span role="status">{said}</span>
      </div>
    </form>
  )
}

/** `progress` receives the number of bytes sent. */
export type Sending = (file: File, progress: (sent: number) => void, signal: AbortSignal) => Promise<unknown>

/** Uploads a large file with progress. The user can stop it until it is sent completely; then the appliance checks it. */
export function SendOrStop(props: {
  label: string
  hint: string
  action: string
  checking: (seconds: number) => string
  /** Returns the function that sends the file, or null if an input is missing. */
  prepare: () => Sending | null
  done: () => unknown
  problem: (error: unknown) => ComponentChildren
  question?: { what: string; typed: string } | undefined
  children?: ComponentChildren
}) {
  const { label, hint, action, checking, prepare, done, problem, question, children } = props
  const file = useSignal<File | null>(null)
  const missing = useSignal(false)
  const sent = useSignal<number | null>(null)
  const isWhole = useSignal(false)
  const stop = useRef<AbortController | null>(null)
  const asked = useSignal<(() => unknown) | null>(null)
  const run = useRun()
  const submit = () => {
    const chosen = file.value
    missing.value = chosen === null
    const sending = prepare()
    if (chosen === null || sending === null) return
    if (question === undefined) void start(chosen, sending)
    else asked.value = () => start(chosen, sending)
  }
  const close = () => {
    asked.value = null
  }
  const start = async (chosen: File, send: Sending) => {
    close()
    const { size } = chosen
    const controller = new AbortController()
    stop.current = controller
    isWhole.value = false
    let ticking: ReturnType<typeof setInterval> | undefined
    const progress = (bytes: number) => {
      sent.value = bytes
      run.say(words.sending(Math.min(bytes, size), size))
      if (bytes < size || ticking !== undefined) return
      isWhole.value = true
      const since = Date.now()
      ticking = setInterval(() => run.say(checking((Date.now() - since) / 1000)), 500)
    }
    const isDone = await run.start(words.sending(0, size), () =>
      holdView(() => send(chosen, progress, controller.signal)),
    )
    clearInterval(ticking)
    sent.value = null
    if (isDone) await done()
  }
  return (
    <Card>
      <Form
        run={run}
        submit={submit}
        action={action}
        problem={problem(run.error.value)}
        beside={
          // Once sent completely, the file is checked and installed even if the user leaves.
          run.busy.value !== false &&
          !isWhole.value && (
            <Action onClick={() => stop.current?.abort(new Canceled(words.stopped))}>{words.cancel}</Action>
          )
        }
      >
        <FileDrop label={label} hint={hint} bind={file} />
        {missing.value && (
          <span class="error" role="alert">
            {words.chooseFile}
          </span>
        )}
        {children}
        {sent.value !== null && file.value && <progress max={file.value.size} value={sent.value} aria-label={action} />}
      </Form>
      {question !== undefined && asked.value !== null && (
        <Question {...question} heading={action} title={action} run={run} submit={asked.value} close={close} />
      )}
    </Card>
  )
}

/** A button that asks for confirmation. For an irreversible act the user must also type `typed`. */
export function Confirm(props: {
  title: string
  what: ComponentChildren
  typed?: string | undefined
  saying: string
  work: () => Promise<unknown>
  done?: () => void
  kind?: string
  label?: string
  children?: ComponentChildren
}) {
  const { title, what, typed, saying, work, done, kind = 'danger', label, children } = props
  const asking = useSignal(false)
  const run = useRun()
  const close = () => {
    asking.value = false
  }
  const submit = async () => {
    if (!(await run.start(saying, work))) return
    close()
    done?.()
  }
  return (
    <>
      <Action
        kind={kind}
        {...(label !== undefined && { label })}
        onClick={() => {
          asking.value = true
        }}
      >
        {title}
      </Action>
      {asking.value && (
        <Question {...{ title, what, typed, run, submit, close }} heading={label ?? title}>
          {children}
        </Question>
      )}
    </>
  )
}

function Question(props: {
  heading: string
  title: string
  what: ComponentChildren
  typed?: string | undefined
  run: Run
  submit: () => unknown
  close: () => void
  children?: ComponentChildren
}) {
  const { heading, title, what, typed, run, submit, close, children } = props
  const text = useSignal('')
  const wrong = useSignal(false)
  return (
    <Dialog title={heading} close={close}>
      <p>{what}</p>
      <Form
        run={run}
        submit={() => {
          wrong.value = typed !== undefined && text.value !== typed
          if (!wrong.value) submit()
        }}
        kind="danger"
        action={title}
        beside={<Action onClick={close}>{words.cancel}</Action>}
      >
        {children}
        {typed !== undefined && (
          <Field
            label={words.confirmLabel(typed)}
            bind={text}
            class="id"
            error={wrong.value ? words.confirmWrong : undefined}
            also={() => {
              wrong.value = false
            }}
          />
        )}
      </Form>
    </Dialog>
  )
}
