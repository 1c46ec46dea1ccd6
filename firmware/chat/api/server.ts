/** Server settings, public to clients without an account. Contract section 3.1. */

import { defined } from '../../base/defined.ts'
import { VERSION } from '../base/version.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import { realmSetting } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { Organization } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import { renderDescription } from '../realm/objects/rendering.ts'
import { pictureFields } from '../realm/organization/settings/pictures.ts'
import { type AnyDeclaration, declareOpen } from './declare.ts'

export const serverDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
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
        realm_icon: URL.parse(defined(pictureFields(organization, 'icon').icon_url), url)?.href ?? url,
        realm_description: descriptionOf(realm, organization),
        realm_web_public_access_enabled: isOpenToAll(realm, organization),
      }
    },
  }),
]

/** Caches the rendered description: anyone may request it. */
const descriptions = new WeakMap<Organization, string>()

function descriptionOf(realm: Realm, organization: Organization): string {
  let html = descriptions.get(organization)
  if (html === undefined) {
    html = renderDescription(realm, realmSetting(organization, 'description'))
    descriptions.set(organization, html)
  }
  return html
}

const isOpenToAll = ({ state }: Realm, organization: Organization): boolean =>
  realmSetting(organization, 'enable_spectator_access') &&
  [...state.channel.all()].some(({ isWebPublic, isArchived }) => isWebPublic && !isArchived)

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
