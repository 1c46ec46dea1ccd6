/** Runtime of JSX elements: `tools/build-console.ts` injects this module into every file. */

export { createElement, Fragment } from 'preact'
