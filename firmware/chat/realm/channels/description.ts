/** Descriptions of channels as HTML. Contract section 2.3, rendered_description. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** '' where there is none. */
export const renderDescription = (description: string): string =>
  description === '' ? '' : `<p>${description.replace(/[&<>"']/g, (character) => ESCAPES[character]!)}</p>`
