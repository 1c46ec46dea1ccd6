/** Domains whose addresses may join. */

import { call } from '../api.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { RecordList } from './record-list.tsx'

interface Domain {
  domain: string
  allow_subdomains: boolean
}

export function DomainsSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ domains: Domain[] }>('GET', '/realm/domains', {}, { signal }),
  )
  const then = async (act: Promise<unknown>) => {
    await act
    await load()
  }
  return (
    <>
      <p class="soft lead">{words.domainsLead}</p>
      <Problem error={failure.value} />
      <RecordList
        newLabel={words.newDomain}
        empty={words.noDomains}
        records={(value.value?.domains ?? []).map(({ domain, allow_subdomains }) => ({
          ...{ id: domain, title: domain, about: allow_subdomains ? words.withSubdomains : '' },
          values: { domain, allow_subdomains },
        }))}
        fields={[
          { name: 'domain', label: words.domain, required: true },
          { name: 'allow_subdomains', label: words.withSubdomains, input: 'bool' },
        ]}
        add={(values) => then(call('POST', '/realm/domains', values))}
        change={(domain, { allow_subdomains }) =>
          then(call('PATCH', `/realm/domains/${encodeURIComponent(domain)}`, { allow_subdomains }))
        }
        remove={(domain) => then(call('DELETE', `/realm/domains/${encodeURIComponent(domain)}`))}
        removeText={words.removeDomainText}
      />
    </>
  )
}
