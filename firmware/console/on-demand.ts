/** Parts that few visits need, in a script of their own. The browser loads it with the first of them. */

export { verifyExport } from '../client/audit-verify.ts'
export { verifyEcdsa, verifyPkcs1, verifyPss } from '../client/verify-digest.ts'
export { AccountPage } from './pages/account.tsx'
export { BackupPage } from './pages/backup.tsx'
export { CertificatePage } from './pages/certificate.tsx'
export { ChatPage } from './pages/chat.tsx'
export { ClusterPage } from './pages/cluster.tsx'
export { Versions } from './pages/key-versions.tsx'
export { MetricsPage } from './pages/metrics.tsx'
export { SettingsPage } from './pages/settings.tsx'
export { UpdatePage } from './pages/update.tsx'
