/** Links to the sections of a view. */

export function Sections(props: {
  label: string
  all: readonly (readonly [name: string, text: string])[]
  here: string
  linkTo: (name: string) => string
}) {
  const { label, all, here, linkTo } = props
  return (
    <nav class="sections" aria-label={label}>
      <ul>
        {all.map(([name, text]) => (
          <li key={name}>
            <a class="row-link" href={linkTo(name)} aria-current={name === here ? 'page' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
