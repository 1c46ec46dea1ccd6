/** Views in the left sidebar of clients, as the user arranged them. Contract section 2.5, row E41, V17. */

import { badRequest, invalidParameter, notFound } from '../../../base/error.ts'
import { publishOwn } from '../../model/own-events.ts'
import type { Realm } from '../../model/realm.ts'
import type { NavigationView, User } from '../../model/records.ts'

/** Views of every client. Clients name them. */
const BUILT_IN: ReadonlySet<string> = new Set([
  'inbox',
  'recent',
  'feed',
  'drafts',
  'narrow/has/reaction/sender/me',
  'narrow/is/mentioned',
  'narrow/is/starred',
  'scheduled',
  'reminders',
])

const CHARACTERS_MAX = 500

export const navigationViewsOf = (realm: Realm, me: User) =>
  [...realm.state.navigationViewsOf.get(me.id).values()].map(form)

/** Throws `BAD_REQUEST` if the fragment or name exists. */
export function addNavigationView(
  realm: Realm,
  me: User,
  input: { fragment: string; isPinned: boolean; name: string | undefined },
): void {
  realm.transaction((tx) => {
    const fragment = checkedText('fragment', input.fragment)
    const name = checkedName(fragment, input.name)
    if (name === null && !BUILT_IN.has(fragment)) throw badRequest('Custom views must have a valid name.')
    const views = realm.state.navigationViewsOf.get(me.id)
    if (views.has(fragment)) throw badRequest('Navigation view already exists.')
    expectNewName(realm, me, name)
    const view = { userId: me.id, fragment, isPinned: input.isPinned, name }
    tx.put('navigationView', view)
    publishOwn(tx, me, 'navigation_view', 'add', { navigation_view: form(view) })
  })
}

/** Undefined members stay unchanged. Throws 404 for an unknown view. */
export function changeNavigationView(
  realm: Realm,
  me: User,
  fragment: string,
  input: { isPinned: boolean | undefined; name: string | undefined },
): void {
  realm.transaction((tx) => {
    const before = find(realm, me, fragment)
    const name = input.name === undefined ? before.name : checkedName(fragment, input.name)
    if (name !== before.name) expectNewName(realm, me, name)
    const after = { ...before, name, isPinned: input.isPinned ?? before.isPinned }
    const data = {
      ...(after.name !== before.name && { name: after.name }),
      ...(after.isPinned !== before.isPinned && { is_pinned: after.isPinned }),
    }
    if (Object.keys(data).length === 0) return
    tx.put('navigationView', after)
    publishOwn(tx, me, 'navigation_view', 'update', { fragment, data })
  })
}

export function removeNavigationView(realm: Realm, me: User, fragment: string): void {
  realm.transaction((tx) => {
    const view = find(realm, me, fragment)
    tx.remove('navigationView', `${me.id}:${view.fragment}`)
    publishOwn(tx, me, 'navigation_view', 'remove', { fragment })
  })
}

function find(realm: Realm, me: User, fragment: string): NavigationView {
  const view = realm.state.navigationViewsOf.get(me.id).get(fragment)
  if (view === undefined) throw notFound('Navigation view does not exist.')
  return view
}

function checkedName(fragment: string, input: string | undefined): string | null {
  if (input === undefined) return null
  if (BUILT_IN.has(fragment)) throw badRequest('Built-in views cannot have a custom name.')
  return checkedText('name', input)
}

function checkedText(parameter: string, input: string): string {
  const text = input.trim()
  if (text === '') throw invalidParameter(parameter, `${parameter} cannot be blank`)
  if ([...text].length > CHARACTERS_MAX)
    throw invalidParameter(parameter, `${parameter} must have at most ${CHARACTERS_MAX} characters`)
  return text
}

function expectNewName(realm: Realm, me: User, name: string | null): void {
  if (name === null) return
  for (const view of realm.state.navigationViewsOf.get(me.id).values())
    if (view.name === name) throw badRequest('Navigation view already exists.')
}

const form = ({ fragment, isPinned, name }: NavigationView) => ({ fragment, is_pinned: isPinned, name })
