/** Icons of buttons, in the color of the text. The buttons have accessible names. */

const PATHS = {
  attach: 'M12 5v14M5 12h14',
  smile: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8.5 14.5a4.5 4.5 0 0 0 7 0M9 9.5h.01M15 9.5h.01',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12M12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6',
  bookmark: 'M7 4h10v16l-5-4-5 4V4',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2',
  quote: 'M10 7H5v6h5V7m0 6c0 2.5-1.5 4-4 4.5M19 7h-5v6h5V7m0 6c0 2.5-1.5 4-4 4.5',
  pencil: 'M4 20l1-4.5L16.5 4l3.5 3.5L8.5 19 4 20M14 6.5l3.5 3.5',
  gear: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  close: 'M6 6l12 12M18 6 6 18',
} as const

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class={`sign ${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
