/** All integrations, by name. Contract section 3.5.2. */

import { alertmanager } from './alertmanager.ts'
import { forgejo, gitea, gogs } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { grafana } from './grafana.ts'
import type { Integration } from './integration.ts'
import { json } from './json.ts'
import { slackIncoming } from './slack-incoming.ts'
import { uptimekuma } from './uptimekuma.ts'

export const INTEGRATIONS: readonly Integration[] = [
  alertmanager,
  forgejo,
  gitea,
  github,
  gitlab,
  gogs,
  grafana,
  json,
  slackIncoming,
  uptimekuma,
]
