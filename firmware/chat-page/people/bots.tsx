/** Bots with their keys, and a form for a new one. */

import { useSignal } from '@preact/signals'
import { Action, Field, Select } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import type { Participant } from '../model/types.ts'
import { personName } from '../names.ts'
import { ConfirmDialog, FormDialog } from '../views/form-dialog.tsx'
import { Face } from '../views/parts.tsx'
import { words } from '../words/words.ts'
import { KeyDialog } from './key-dialog.tsx'

type Question = { kind: 'key' | 'rename' | 'end'; bot: Participant } | { kind: 'new' }

const OUTGOING_WEBHOOK = '3'

export function BotList({ realm, bots, mayAdd = false }: { realm: RealmView; bots: Participant[]; mayAdd?: boolean }) {
  const asked = useSignal<Question | null>(null)
  const ask = (question: Question | null) => () => {
    asked.value = question
  }
  const sorted = bots.toSorted((a, b) => a.full_name.localeCompare(b.full_name))
  return (
    <section class="form">
      {mayAdd && (
        <div>
          <Action onClick={ask({ kind: 'new' })}>{words.newBot}</Action>
        </div>
      )}
      {bots.length === 0 && <p class="soft">{words.noBots}</p>}
      <ul class="rows">
        {sorted.map((bot) => (
          <li key={bot.user_id} class="row-entry">
            <Face person={bot} />
            <div class="what">
              <strong>{bot.full_name}</strong>
              {bot.is_active === false && <span class="tag">{words.deactivated}</span>}
              <p class="soft">
                {bot.email}
                {bot.bot_owner_id && bot.bot_owner_id !== realm.ownId
                  ? ` · ${words.ownedBy(personName(realm, bot.bot_owner_id))}`
                  : ''}
              </p>
            </div>
            {bot.is_active !== false && (
              <div class="row">
                <Action kind="small" label={`${words.showKey}: ${bot.full_name}`} onClick={ask({ kind: 'key', bot })}>
                  {words.showKey}
                </Action>
                <Action kind="small" label={`${words.rename}: ${bot.full_name}`} onClick={ask({ kind: 'rename', bot })}>
                  {words.rename}
                </Action>
                <Action
                  kind="small danger"
                  label={`${words.deactivate}: ${bot.full_name}`}
                  onClick={ask({ kind: 'end', bot })}
                >
                  {words.deactivate}
                </Action>
              </div>
            )}
          </li>
        ))}
      </ul>
      {asked.value !== null && <BotQuestion question={asked.value} close={ask(null)} />}
    </section>
  )
}

function BotQuestion({ question, close }: { question: Question; close: () => void }) {
  if (question.kind === 'new') return <NewBotDialog close={close} />
  const { kind, bot } = question
  if (kind === 'key') return <KeyDialog bot={bot} close={close} />
  if (kind === 'rename') return <RenameDialog bot={bot} close={close} />
  return (
    <ConfirmDialog
      title={words.deactivateNamed(bot.full_name)}
      action={words.deactivate}
      act={() => call('DELETE', `/bots/${bot.user_id}`)}
      close={close}
    >
      <p>{words.deactivateBotText}</p>
    </ConfirmDialog>
  )
}

function RenameDialog({ bot, close }: { bot: Participant; close: () => void }) {
  const name = useSignal(bot.full_name)
  return (
    <FormDialog
      title={words.renameNamed(bot.full_name)}
      action={words.save}
      act={() => call('PATCH', `/bots/${bot.user_id}`, { full_name: name.value.trim() })}
      close={close}
    >
      <Field label={words.name} bind={name} required />
    </FormDialog>
  )
}

function NewBotDialog({ close }: { close: () => void }) {
  const name = useSignal('')
  const shortName = useSignal('')
  const type = useSignal('1')
  const url = useSignal('')
  const isOutgoing = type.value === OUTGOING_WEBHOOK
  const create = () =>
    call('POST', '/bots', {
      ...{ full_name: name.value.trim(), short_name: shortName.value.trim(), bot_type: type.value },
      ...(isOutgoing && { payload_url: JSON.stringify(url.value.trim()) }),
    })
  return (
    <FormDialog title={words.newBot} action={words.create} act={create} close={close}>
      <Field label={words.name} bind={name} required />
      <Field label={words.botShortName} hint={words.botShortNameHint} bind={shortName} required />
      <Select label={words.botType} bind={type} options={Object.entries(words.botTypes)} />
      {isOutgoing && <Field label={words.botUrl} hint={words.botUrlHint} bind={url} required />}
    </FormDialog>
  )
}
