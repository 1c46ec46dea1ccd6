/** The page that administers the appliance: what the browser runs first. */

import { render } from 'preact'

render(
  <main>
    <h1>Coffer</h1>
  </main>,
  document.getElementById('app')!,
)
