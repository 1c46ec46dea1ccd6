/** Name, description and pictures of the organization, and its end. */

import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { ownMedia } from '../message/links.ts'
import { isOwner } from '../model/rights.ts'
import { SettingGroup, type SettingRow } from '../settings/setting.tsx'
import { DangerAction } from '../views/form-dialog.tsx'
import { usePictureField } from '../views/picture-field.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { saveRealm } from './save.ts'

const rows = (): readonly SettingRow[] => [
  { name: 'name', label: words.name, input: 'text' },
  { name: 'description', label: words.description, input: 'long' },
  { name: 'org_type', label: words.organizationType, input: words.organizationTypes },
]

export function ProfileSection({ realm }: OrganizationProps) {
  const { icon_url: icon, logo_url: logo, night_logo_url: nightLogo } = realm.organization
  return (
    <>
      <SettingGroup
        title={words.organization}
        rows={rows()}
        values={{ ...realm.organization, name: realm.name }}
        save={saveRealm}
      />
      <section class="form">
        <h2>{words.pictures}</h2>
        <RealmPicture
          label={words.icon}
          url={icon}
          set={(file) => call('POST', '/realm/icon', {}, { file })}
          remove={() => call('DELETE', '/realm/icon')}
        />
        <Logo label={words.logo} url={logo} night={false} />
        <Logo label={words.nightLogo} url={nightLogo} night />
      </section>
      {isOwner(realm) && <EndOfOrganization name={realm.name} />}
    </>
  )
}

const Logo = ({ label, url, night }: { label: string; url: unknown; night: boolean }) => (
  <RealmPicture
    label={label}
    url={url}
    set={(file) => call('POST', '/realm/logo', { night }, { file })}
    remove={() => call('DELETE', '/realm/logo', { night })}
  />
)

function RealmPicture(props: {
  label: string
  url: unknown
  set: (file: File) => Promise<unknown>
  remove: () => Promise<unknown>
}) {
  const { label, url, set, remove } = props
  const picture = usePictureField(label, set)
  const source = typeof url === 'string' ? ownMedia(url, location.origin) : null
  return (
    <div class="profile">
      {source !== null && <img class="face huge contained" src={source} alt={label} />}
      {picture.field}
      <div class="stack">
        <strong>{label}</strong>
        <div class="row">
          <Action kind="small" busy={picture.busy} label={`${words.choosePicture}: ${label}`} onClick={picture.choose}>
            {words.choosePicture}
          </Action>
          <Action kind="small" label={`${words.removePicture}: ${label}`} onClick={() => void picture.change(remove)}>
            {words.removePicture}
          </Action>
        </div>
      </div>
      <Problem error={picture.error} title={words.notSaved} />
    </div>
  )
}

function EndOfOrganization({ name }: { name: string }) {
  return (
    <section class="form">
      <h2>{words.endOrganization}</h2>
      <p class="soft">{words.endOrganizationText}</p>
      <div>
        <DangerAction
          title={words.deactivateNamed(name)}
          action={words.deactivate}
          act={() => call('POST', '/realm/deactivate')}
        >
          <p>{words.endOrganizationText}</p>
        </DangerAction>
      </div>
    </section>
  )
}
