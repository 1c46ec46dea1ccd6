/** One act of a menu, which closes with it. */
export function MenuItem({ label, close, act }: { label: string; close: () => void; act: () => void }) {
  return (
    <button
      type="button"
      onClick={() => {
        close()
        act()
      }}
    >
      {label}
    </button>
  )
}
