import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Action, Select } from '../../web/controls.tsx'
import { Mark } from '../../web/mark.tsx'
import { SkipLink } from '../../web/skip-link.tsx'
import { theme } from '../../web/theme.ts'
import type { Api } from '../api.ts'
import { secondsLeft } from '../idle.ts'
import { route, to } from '../routes.ts'
import { ACCOUNTS_MAX, type Account, accounts, signOut, signOutAll, state } from '../state.ts'
import * as words from '../words.ts'

const PILLS = {
  Operational: 'good',
  Locked: 'warn',
  Unprovisioned: 'warn',
  Failed: 'bad',
  Trial: 'warn',
  Unreachable: 'bad',
  Starting: '',
}

export type ViewName = keyof typeof words.views

/** Properties of each view: an account with the required role, and calls as that account. */
export interface ViewProps {
  readonly account: Account
  readonly api: Api
}

export function Frame({ views, children }: { views: readonly ViewName[]; children: ComponentChildren }) {
  return (
    <>
      <SkipLink>{words.skip}</SkipLink>
      <header class="bar">
        <a class="brand" href={to()}>
          <Mark />
          {words.product}
        </a>
        <span class={`pill ${PILLS[state.value]}`} role="status">
          {words.states[state.value]}
        </span>
        <span class="grow" />
        <Menu />
      </header>
      <Countdown />
      <div class={views.length > 0 ? 'frame' : 'frame alone'}>
        {views.length > 0 && <Navigation views={views} />}
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  )
}

function Navigation({ views }: { views: readonly ViewName[] }) {
  const here = route.value.path[0] ?? 'overview'
  const unfolded = useSignal(false)
  useLayoutEffect(() => {
    unfolded.value = false
  }, [here, unfolded])
  const shown = views.find((name) => name === here)
  return (
    <nav aria-label={words.navigation}>
      <button
        type="button"
        class="fold"
        aria-expanded={unfolded.value}
        onClick={() => {
          unfolded.value = !unfolded.value
        }}
      >
        {shown === undefined ? words.navigation : words.navigationAt(words.views[shown])}
      </button>
      <ul>
        {views.map((name) => (
          <li key={name}>
            <a href={name === 'overview' ? to() : to(name)} aria-current={here === name ? 'page' : undefined}>
              {words.views[name]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Menu() {
  const [first] = accounts.value
  const more = accounts.value.length > 1 ? ` +${accounts.value.length - 1}` : ''
  return (
    <details class="who" key={route.value.path.join('/')}>
      <summary>{first ? `${first.user}${more}` : words.theme}</summary>
      <div class="menu">
        {first && (
          <div class="stack">
            <h2>{words.signInAccounts}</h2>
            {accounts.value.map((account) => (
              <AccountLine key={account.id} account={account} />
            ))}
            {accounts.value.length < ACCOUNTS_MAX && <a href={to('sign-in')}>{words.signInAnother}</a>}
            <Action onClick={() => signOutAll('')}>{words.signInAllOut}</Action>
          </div>
        )}
        <Select label={words.theme} bind={theme} options={Object.entries(words.themes)} />
        <a href="/docs">{words.docs}</a>
      </div>
    </details>
  )
}

function AccountLine({ account }: { account: Account }) {
  const { id, user, role, namespace } = account
  return (
    <div class="row apart">
      <span>
        <span class="id">{user}</span>
        <br />
        <small>
          {words.roles[role]} {namespace !== null && words.signInInNamespace(namespace)}
        </small>
      </span>
      <Action kind="small" label={`${words.signInOut}: ${user}`} onClick={() => signOut(id)}>
        {words.signInOut}
      </Action>
    </div>
  )
}

function Countdown() {
  const left = secondsLeft.value
  return <div role="status">{left !== null && <div class="notice warn">{words.signInCountdown(left)}</div>}</div>
}

/** Heading of a view. Takes the focus when the view opens. */
export function Title({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    const { current } = heading
    if (current === null) return
    document.title = `${current.textContent} · ${words.product}`
    current.focus()
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

export function Card({ title, children }: { title?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      {title && <h2>{title}</h2>}
      {children}
    </section>
  )
}

export function Row({ children }: { children: ComponentChildren }) {
  return <div class="row">{children}</div>
}

/** Used within a list of class `facts`. `mono` selects the monospaced font for ids, hashes and keys. */
export function Fact(props: { name: ComponentChildren; mono?: boolean; children: ComponentChildren }) {
  const { name, mono, children } = props
  return (
    <>
      <dt>{name}</dt>
      <dd class={mono ? 'id' : undefined}>{children}</dd>
    </>
  )
}

export function Columns({ names }: { names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th scope="col" key={name}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}
