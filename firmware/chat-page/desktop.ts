/** Interface of Zulip's desktop app, which shows this page in a window of its own. Absent in browsers. */

/** Returns false to keep the app from its own act. */
type NotificationAct = (type: string, data: unknown) => boolean

interface ElectronBridge {
  send_event(name: string, ...values: unknown[]): unknown
  on_event(name: 'logout' | 'show-keyboard-shortcuts' | 'show-notification-settings', act: () => void): void
  on_event(name: 'send_notification_reply_message', act: (messageId: unknown, reply: unknown) => void): void
  set_send_notification_reply_message_supported?(isSupported: boolean): void
  new_notification(
    title: string,
    options: Record<string, unknown>,
    act: NotificationAct,
  ): { close?(): void } | undefined
}

export const desktopApp = (): ElectronBridge | undefined =>
  (globalThis as { electron_bridge?: ElectronBridge }).electron_bridge

export function tellDesktop(name: string, iconUrl: string, unread: number): void {
  const app = desktopApp()
  app?.send_event('realm_name', name)
  app?.send_event('realm_icon_url', new URL(iconUrl, location.href).href)
  app?.send_event('total_unread_count', unread)
}
