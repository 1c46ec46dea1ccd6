import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Action, Dialog } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { noteFailure } from '../connection.ts'
import { words } from '../words/words.ts'
import { Problem } from './problem.tsx'

interface FormDialogProps {
  title: string
  action: string
  busy?: string
  kind?: 'primary' | 'danger'
  /** Returns false if the input is incomplete: the dialog stays open. */
  act: () => Promise<unknown> | false
  close: () => void
  children: ComponentChildren
}

/** A form in a dialog. Closes on success and shows the error otherwise. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, busy = words.saving, kind = 'primary', act, close, children } = props
  const run = useRun()
  const submit = async () => {
    let isIncomplete = false
    const work = async () => {
      const acting = act()
      isIncomplete = acting === false
      await acting
    }
    if (!(await run.start(busy, work))) noteFailure(run.error.value)
    else if (!isIncomplete) close()
  }
  return (
    <Dialog title={title} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        {children}
        <Problem error={run.error.value} />
        <div class="row">
          <Action submit kind={kind} busy={run.busy.value}>
            {action}
          </Action>
          <Action onClick={close}>{words.cancel}</Action>
        </div>
      </form>
    </Dialog>
  )
}

/** Asks before an act that cannot be undone. */
export const ConfirmDialog = (props: Omit<FormDialogProps, 'kind'>) => <FormDialog {...props} kind="danger" />

/** A button that asks before its act; `title` is that of the question. */
export function DangerAction(props: Omit<FormDialogProps, 'kind' | 'close'>) {
  const isAsked = useSignal(false)
  return (
    <>
      <Action
        kind="danger"
        onClick={() => {
          isAsked.value = true
        }}
      >
        {props.action}
      </Action>
      {isAsked.value && (
        <ConfirmDialog
          {...props}
          close={() => {
            isAsked.value = false
          }}
        />
      )}
    </>
  )
}
