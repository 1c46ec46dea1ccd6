/** Views in a client's side bar. Contract row E41. A fragment may contain slashes, which are escaped in the path. */

import { boolean, nameText, text } from '../pipeline/parameters.ts'
import {
  addNavigationView,
  changeNavigationView,
  navigationViewsOf,
  removeNavigationView,
} from '../realm/organization/users/navigation-views.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ONE = { path: '/navigation_views/:fragment', segments: { fragment: text() } } as const

export const navigationViewDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/navigation_views',
    who: 'account',
    handle: ({ realm, me }) => ({ navigation_views: navigationViewsOf(realm, me) }),
  }),
  declare({
    method: 'POST',
    path: '/navigation_views',
    who: 'account',
    parameters: { fragment: nameText(), is_pinned: boolean(), name: nameText().optional() },
    handle: ({ realm, me, input }) => {
      addNavigationView(realm, me, { fragment: input.fragment, isPinned: input.is_pinned, name: input.name })
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    who: 'account',
    parameters: { is_pinned: boolean().optional(), name: nameText().optional() },
    handle: ({ realm, me, path, input }) => {
      changeNavigationView(realm, me, path.fragment, { isPinned: input.is_pinned, name: input.name })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    who: 'account',
    handle: ({ realm, me, path }) => {
      removeNavigationView(realm, me, path.fragment)
      return {}
    },
  }),
]
