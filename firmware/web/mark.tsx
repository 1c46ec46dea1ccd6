export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path d="M11 14v-3a5 5 0 0 1 10 0v3" fill="none" stroke="var(--card)" stroke-width="2.5" />
      <rect x="8" y="14" width="16" height="11" rx="2.5" fill="var(--card)" />
    </svg>
  )
}
