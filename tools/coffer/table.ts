/** All commands, in the order that help shows them. */

import type { Command } from './command.ts'
import { ALERTS } from './commands/alerts.ts'
import { AUDIT } from './commands/audit.ts'
import { CA } from './commands/ca.ts'
import { CHAT } from './commands/chat.ts'
import { CLUSTER } from './commands/cluster.ts'
import { CONFIG } from './commands/config.ts'
import { KEYS } from './commands/keys.ts'
import { NETHSM } from './commands/nethsm.ts'
import { PKCS11 } from './commands/pkcs11.ts'
import { selfCommands } from './commands/self.ts'
import { SESSION } from './commands/session.ts'
import { SSH_AGENT } from './commands/ssh-agent.ts'
import { START } from './commands/start.ts'
import { SYSTEM } from './commands/system.ts'
import { USE } from './commands/use.ts'
import { USERS } from './commands/users.ts'

export const COMMANDS: readonly Command[] = [
  ...START,
  ...KEYS,
  ...USE,
  ...USERS,
  ...CONFIG,
  ...SYSTEM,
  ...ALERTS,
  ...AUDIT,
  ...CLUSTER,
  ...CHAT,
  ...CA,
  ...SESSION,
  ...SSH_AGENT,
  ...PKCS11,
  ...selfCommands(() => COMMANDS),
  ...NETHSM,
]
