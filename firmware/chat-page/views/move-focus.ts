/** Moves the focus by keys: between the rows of a list, and between the areas of the page. */

const MESSAGES = 'main article[data-id]'
const SCROLLER = 'main .scroll-area'
const ROWS = 'main .rows > li :is(a, button):first-of-type'
const SCROLLED = 0.9 // of the height in sight, so that the last line stays visible

/** Areas of the page, and what takes the focus in each: the first of these that is there. */
const AREAS: readonly (readonly [area: string, ...focused: string[]])[] = [
  ['.side nav', '[aria-current]', 'a'],
  ['main', 'article[tabindex="0"]', 'h1'],
  ['main .compose', 'textarea'],
]

/** False if there is none. */
function focus(element: HTMLElement | undefined): boolean {
  element?.focus({ preventScroll: true })
  element?.scrollIntoView({ block: 'nearest' })
  return element !== undefined
}

/** Messages of a list; in other views, one link or button a row. */
function allRows(): HTMLElement[] {
  const messages = [...document.querySelectorAll<HTMLElement>(MESSAGES)]
  return messages.length > 0 ? messages : [...document.querySelectorAll<HTMLElement>(ROWS)]
}

/** Focuses the first row, or the last one at -1. Messages are scrolled to that end, past the first or the last of them. */
export function focusRow(at: 0 | -1): boolean {
  const hasRow = focus(allRows().at(at))
  const box = document.querySelector(SCROLLER)
  box?.scrollTo(0, at === 0 ? 0 : box.scrollHeight)
  return hasRow
}

/** Unless a row has the focus, the tab stop of the list gets it; in other views, the first row. False at the end of the list. */
export function focusNext(step: 1 | -1): boolean {
  const all = allRows()
  const at = all.indexOf(document.activeElement as HTMLElement)
  return focus(at === -1 ? (all.find((one) => one.matches('article[tabindex="0"]')) ?? all[0]) : all[at + step])
}

export function scrollPage(step: 1 | -1): void {
  const box = document.querySelector(SCROLLER) ?? document.querySelector('main .view')
  box?.scrollBy({ top: step * SCROLLED * box.clientHeight })
}

export function moveToArea(isBack: boolean): void {
  const areas = AREAS.flatMap(([area, ...focused]) => {
    const element = document.querySelector<HTMLElement>(area)
    const target = focused.map((one) => element?.querySelector<HTMLElement>(one)).find(Boolean)
    return element && target?.checkVisibility() ? [{ element, target }] : []
  })
  const here = areas.findLastIndex(({ element }) => element.contains(document.activeElement))
  focus(areas.at(isBack ? Math.max(here, 0) - 1 : (here + 1) % areas.length)?.target)
}
