/** Patterns that become links in messages. */

import { call } from '../api.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { linesOf, RecordList, type RecordValues, ToTop } from './record-list.tsx'

interface Linkifier {
  id: number
  pattern: string
  url_template: string
  example_input: string | null
  reverse_template: string | null
  alternative_url_templates: readonly string[]
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
  const ids = all.map(({ id }) => id)
  const order = (ordered_linkifier_ids: readonly number[]) =>
    then(call('PATCH', '/realm/linkifiers', { ordered_linkifier_ids }))
  return (
    <>
      <p class="soft lead">{words.linkifiersLead}</p>
      <Problem error={failure.value} />
      <RecordList
        newLabel={words.newLinkifier}
        empty={words.noLinkifiers}
        records={all.map(({ id, pattern, url_template, ...rest }, at) => ({
          ...{ id, title: pattern, values: { pattern, url_template, ...textsOf(rest) } },
          about: (
            <>
              {url_template}
              <ToTop ids={ids} at={at} name={pattern} order={order} />
            </>
          ),
        }))}
        fields={[
          { name: 'pattern', label: words.pattern, hint: words.patternHint, required: true },
          { name: 'url_template', label: words.urlTemplate, hint: words.urlTemplateHint, required: true },
          { name: 'example_input', label: words.exampleText },
          { name: 'reverse_template', label: words.reverseTemplate, hint: words.reverseTemplateHint },
          {
            ...{ name: 'alternative_url_templates', input: 'long' as const },
            ...{ label: words.alternativeTemplates, hint: words.alternativeTemplatesHint },
          },
        ]}
        add={(values) => then(call('POST', '/realm/filters', parametersOf(values)))}
        change={(id, values) => then(call('PATCH', `/realm/filters/${id}`, parametersOf(values)))}
        remove={(id) => then(call('DELETE', `/realm/filters/${id}`))}
      />
    </>
  )
}

type OptionalTexts = Pick<Linkifier, 'example_input' | 'reverse_template' | 'alternative_url_templates'>

const textsOf = (linkifier: OptionalTexts) => ({
  example_input: linkifier.example_input ?? '',
  reverse_template: linkifier.reverse_template ?? '',
  alternative_url_templates: linkifier.alternative_url_templates.join('\n'),
})

const parametersOf = ({ alternative_url_templates: lines, ...values }: RecordValues) => ({
  ...values,
  alternative_url_templates: linesOf(String(lines)),
})
