/** What the server is, for whoever has no account yet. Contract section 3.1. */

import { organizationOf } from '../realm/state.ts'
import { urlOf } from '../realm/url.ts'
import { VERSION } from '../version.ts'
import { type AnyDeclaration, declareOpen } from './declare.ts'

export const serverDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    row: 'E1',
    method: 'GET',
    path: '/server_settings',
    who: 'nobody',
    handle: ({ realm, exchange }) => {
      const organization = organizationOf(realm.state)
      const url = urlOf(organization, exchange.header('host'))
      return {
        ...VERSION,
        authentication_methods: METHODS,
        external_authentication_methods: [],
        push_notifications_enabled: false,
        is_incompatible: false,
        email_auth_enabled: true,
        require_email_format_usernames: true,
        realm_url: url,
        realm_uri: url,
        realm_name: organization.name,
        realm_icon: `${url}/user_avatars/${organization.id}/realm/icon.png`,
        realm_description: '',
        realm_web_public_access_enabled: false,
      }
    },
  }),
]

const METHODS = {
  password: true,
  email: true,
  dev: false,
  ldap: false,
  remoteuser: false,
  github: false,
  azuread: false,
  gitlab: false,
  google: false,
  apple: false,
  saml: false,
  'openid connect': false,
}
