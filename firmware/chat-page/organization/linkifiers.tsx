/** Patterns that become links in messages. */

import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { attempt } from '../problems.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import * as words from '../words/en.ts'
import { RecordList } from './record-list.tsx'

interface Linkifier {
  id: number
  pattern: string
  url_template: string
  example_input: string | null
}

export function LinkifiersSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ linkifiers: Linkifier[] }>('GET', '/realm/linkifiers', {}, { signal }),
  )
  const all = value.value?.linkifiers ?? []
  const then = async (act: Promise<unknown>) => {
    await act
    await load()
  }
  const toTop = (id: number) =>
    then(
      attempt(
        call('PATCH', '/realm/linkifiers', {
          ordered_linkifier_ids: [id, ...all.map((one) => one.id).filter((one) => one !== id)],
        }),
      ),
    )
  return (
    <>
      <p class="soft lead">{words.linkifiersLead}</p>
      <Problem error={failure.value} />
      <RecordList
        newLabel={words.newLinkifier}
        empty={words.noLinkifiers}
        records={all.map(({ id, pattern, url_template, example_input }, at) => ({
          ...{ id, title: pattern, values: { pattern, url_template, example_input: example_input ?? '' } },
          about: (
            <>
              {url_template}
              {at > 0 && (
                <Action kind="link" label={words.toTopNamed(pattern)} onClick={() => void toTop(id)}>
                  {words.toTop}
                </Action>
              )}
            </>
          ),
        }))}
        fields={[
          { name: 'pattern', label: words.pattern, hint: words.patternHint, required: true },
          { name: 'url_template', label: words.urlTemplate, hint: words.urlTemplateHint, required: true },
          { name: 'example_input', label: words.exampleText },
        ]}
        add={(values) => then(call('POST', '/realm/filters', values))}
        change={(id, values) => then(call('PATCH', `/realm/filters/${id}`, values))}
        remove={(id) => then(call('DELETE', `/realm/filters/${id}`))}
      />
    </>
  )
}
