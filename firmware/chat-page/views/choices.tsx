/** Chooses any number of things. */

import type { Signal } from '@preact/signals'

export function Choices<T extends number | string>(props: {
  label: string
  all: readonly (readonly [value: T, text: string])[]
  chosen: Pick<Signal<readonly T[]>, 'value'>
}) {
  const { label, all, chosen } = props
  return (
    <fieldset>
      <legend>{label}</legend>
      <div class="choices">
        {all.map(([value, text]) => (
          <label key={value} class="choice">
            <input
              type="checkbox"
              checked={chosen.value.includes(value)}
              onChange={({ currentTarget: box }) => {
                const others = chosen.value.filter((one) => one !== value)
                chosen.value = box.checked ? [...others, value] : others
              }}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
