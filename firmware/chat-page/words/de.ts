/** All texts of the page in German. The names are those of `en.ts`, which says how to add one. Users are addressed as "du". */

import { dateAndTime, dayShort, listOf, number, timeAgo } from './format.ts'

export const product = 'Coffer'
export const skip = 'Zum Inhalt springen'
export const conversations = 'Unterhaltungen'
export const inbox = 'Posteingang'
export const direct = 'Direktnachrichten'
export const channels = 'Kanäle'
export const theme = 'Darstellung'
export const themes = { auto: 'Wie der Computer', light: 'Hell', dark: 'Dunkel' }
export const menu = 'Menü'
export const loading = 'Wird geladen …'
export const again = 'Noch einmal versuchen'
export const back = 'Zurück zum Posteingang'
export const copy = 'Kopieren'
export const copied = 'Kopiert.'
export const code = 'Code'
export const picture = 'Bild'
export const recording = 'Aufnahme'
export const spoiler = 'Spoiler'
export const show = 'Anzeigen'
export const hide = 'Ausblenden'

export const signIn = 'Anmelden'
export const signingIn = 'Anmeldung läuft …'
export const signOut = 'Abmelden'
export const signingOut = 'Abmeldung läuft …'
export const signedOut = 'Du bist abgemeldet, und in diesem Browser ist nichts vom Chat geblieben.'
export const sessionEnded = 'Diese Sitzung ist beendet. Melde dich wieder an.'
export const email = 'E-Mail'
export const password = 'Passwort'
export const fullName = 'Dein Name'
export const device = 'Name dieses Geräts'
export const deviceOn = (browser: string, system: string) => `${browser} auf ${system}`
export const unknownBrowser = 'Browser'
export const unknownSystem = 'einem Computer'
export const deviceHint = 'Du siehst ihn in der Liste deiner Sitzungen.'
export const remember = 'Das ist mein Gerät: nach jeder Nutzung 30 Tage angemeldet bleiben'
export const wrongPassword = 'E-Mail oder Passwort ist falsch.'
export const required = 'Pflichtfeld.'

export const joinTitle = (realm: string) => `${realm} beitreten`
export const joinLead = (realm: string) => `Du bist zum Team-Chat von ${realm} eingeladen.`
export const joinAction = 'Beitreten'
export const joining = 'Beitritt läuft …'
export const joinGone = 'Einladung nicht gefunden'
export const joinGoneText = 'Sie wurde benutzt, zurückgezogen oder ist zu alt. Bitte um eine neue.'
export const joinPasswordHint = 'Wähle ein Passwort für diesen Chat.'
export const setPassword = 'Passwort festlegen'
export const setPasswordTitle = (realm: string) => `Neues Passwort für ${realm}`
export const setPasswordLead = 'Alle deine Geräte und Programme werden abgemeldet.'
export const linkGone = 'Link nicht gefunden'
export const linkGoneText = 'Er wurde benutzt, ersetzt oder ist zu alt. Bitte einen Administrator um einen neuen.'
export const passwordLink = 'Passwort-Link'
export const passwordLinkText =
  'Gib ihn auf einem Weg weiter, dem du vertraust: Wer den Link hat, legt das Passwort fest. Er gilt einmal und 24 Stunden lang. Die Person und alle Eigentümer werden benachrichtigt.'
export const passwordLinkOf = (name: string) => `Link für ein neues Passwort von ${name}`
export const joinSignIn = 'Ich habe ein Konto: anmelden'

export const sealedTitle = 'Versiegelt'
export const sealedText =
  'Der Chat ist gesperrt. Seine Nachrichten sind versiegelt, bis ein Betreiber die Appliance entsperrt. Diese Seite geht dann von selbst weiter.'
export const unreachableTitle = 'Keine Verbindung'
export const unreachableText = 'Der Server antwortet nicht. Diese Seite versucht es von selbst wieder.'
export const offline = 'Keine Verbindung. Neuer Versuch läuft …'
export const offlineSince = (at: Date): string =>
  `Keine Verbindung. Das ist der Stand vom ${dateAndTime(at)}. Neuer Versuch läuft …`

export const recent = 'Letzte Unterhaltungen'
export const feed = 'Alle Nachrichten'
export const filters = 'Filter'
export const unreadOnly = 'Ungelesen'
export const withOwn = 'Mit Nachrichten von dir'
export const withMuted = 'Auch stummgeschaltete'
export const noConversations = 'Keine Unterhaltungen.'
export const olderConversations = 'Ältere Unterhaltungen'
export const mutedPerson = 'Stummgeschaltete Person'
export const mutedMessage = 'Du hast den Absender dieser Nachricht stummgeschaltet.'
export const shortcuts = 'Tastenkürzel'
export const shortcutTexts = [
  ['n', 'nächste ungelesene Unterhaltung'],
  ['p', 'nächste ungelesene Direktnachricht'],
  ['Shift N', 'nächstes ungelesenes Thema, dem du folgst'],
  ['Strg K', 'zu einer Unterhaltung, einem Kanal oder einer Person gehen'],
  ['Shift I', 'Posteingang'],
  ['t', 'letzte Unterhaltungen'],
  ['a', 'alle Nachrichten'],
  ['Shift P', 'alle Direktnachrichten'],
  ['*', 'markierte Nachrichten'],
  ['d', 'Entwürfe'],
  ['/', 'suchen'],
  ['q', 'einen Kanal finden'],
  ['w', 'Personen finden'],
  ['Esc', 'Startansicht; vom Textfeld: zur neuesten Nachricht'],
  ['Strg [', 'wie Esc'],
  ['F6, Shift F6', 'nächster und voriger Bereich der Seite'],
  ['j, k, Pfeile', 'nächste und vorige Nachricht oder Zeile'],
  ['Pos1; Ende, Shift G', 'erste und letzte Nachricht'],
  ['Shift J, Shift K', 'eine Seite nach unten und oben'],
  ['c', 'neues Thema'],
  ['x', 'neue Direktnachricht'],
  ['r, Enter', 'antworten'],
  ['Shift R', 'Direktnachricht an den Absender'],
  ['@', 'antworten und den Absender erwähnen'],
  ['>', 'die Nachricht zitieren'],
  ['Strg .', 'vom Textfeld zu seiner Unterhaltung'],
  ['Alt P', 'Vorschau des Textes im Textfeld'],
  ['e', 'die Nachricht bearbeiten'],
  ['m', 'die Nachricht verschieben'],
  ['i', 'mehr zur Nachricht'],
  ['s', 'Unterhaltung der Nachricht, dann ihr Kanal'],
  ['z', 'die Nachricht in ihrer Unterhaltung'],
  ['u', 'Profil des Absenders'],
  ['v', 'das Bild öffnen'],
  ['+', 'mit Daumen hoch reagieren'],
  ['=', 'sich der ersten Reaktion anschließen oder sie zurücknehmen'],
  [':', 'eine Reaktion wählen'],
  ['Strg S', 'die Nachricht markieren oder die Markierung entfernen'],
  ['Shift U', 'ab hier als ungelesen markieren'],
  ['-', 'die Nachricht ein- oder ausklappen'],
  ['Shift H', 'Bearbeitungsverlauf'],
  ['Shift V', 'wer die Nachricht gelesen hat'],
  ['Shift M', 'Menü des Themas: folgen, stummschalten und mehr'],
  ['?', 'diese Liste'],
] as const
export const switchTo = 'Gehe zu'
export const collapsed = 'Eingeklappt.'
export const collapse = 'Einklappen'
export const expand = 'Ausklappen'
export const move = 'Verschieben'
export const moveModes = {
  change_one: 'nur diese Nachricht',
  change_later: 'diese und die späteren Nachrichten ihres Themas',
  change_all: 'alle Nachrichten ihres Themas',
}
export const longMessage = 'Diese Nachricht ist sehr lang.'
export const aboutOf = (realm: string) => `Über ${realm}`
export const aboutStorage = 'Speicherung'
export const aboutStorageText =
  'Alle Nachrichten und Dateien liegen verschlüsselt auf der Festplatte. Solange die Appliance nicht entsperrt ist, kann niemand sie lesen.'
export const aboutReaders = 'Zugriff der Eigentümer'
export const aboutOwnersRead =
  'Eigentümer können alle Nachrichten exportieren, auch aus privaten Kanälen und Direktnachrichten.'
export const aboutNoOwners =
  'Eigentümer können private Kanäle und Direktnachrichten anderer nicht lesen und nur mit Zustimmung jeder Person exportieren.'
export const aboutRetention = 'Aufbewahrung'
export const aboutDays = (days: number) =>
  `Nachrichten werden nach ${days === 1 ? 'einem Tag' : `${number(days)} Tagen`} gelöscht, wenn ein Kanal keine eigene Regel hat.`
export const aboutForever = 'Nachrichten bleiben, wenn ein Kanal keine eigene Regel hat.'
export const aboutOwners = 'Eigentümer'
export const aboutVersion = 'Version'
export const aboutVersionText = (version: string, level: number) => `${version}, Funktionsstand ${level}`
export const inboxEmpty = 'Nichts ist ungelesen.'
export const inboxNoChannels = 'Du bist noch in keinem Kanal.'
export const unread = (count: number) => `${number(count)} ungelesen`
export const mentioned = 'Du wirst erwähnt'
export const channelTopics = (name: string) => `Themen von #${name}`
export const channelNoTopics = 'Noch keine Themen. Schreib die erste Nachricht.'
export const notInChannel = 'Du bist nicht in diesem Kanal, oder es gibt ihn nicht.'
export const showChannel = 'Kanal anzeigen'
export const topic = 'Thema'
export const notes = 'Notizen an dich selbst'
export const unknownPerson = 'Unbekannte Person'

export const availabilities = { active: 'Aktiv', idle: 'Abwesend' }
export const profile = 'Profil'
export const lastActive = (agoS: number) => `Aktiv ${timeAgo(agoS)}`
export const typing = (all: readonly string[], count: number) =>
  count === 1 ? `${all[0]} schreibt …` : `${listOf(all)} schreiben …`
export const severalTyping = 'Mehrere Personen schreiben …'
export const editing = 'wird bearbeitet …'

export const messages = 'Nachrichten'
export const noMessages = 'Noch keine Nachrichten.'
export const newMessages = 'Neu'
export const edited = 'bearbeitet'
export const toNewest = (count: number) =>
  count === 0 ? 'Zur neuesten Nachricht' : `${number(count)} neue weiter unten`
export const problemTitle = 'Das hat nicht geklappt'
export const problemOffline = 'Der Server hat nicht geantwortet.'
export const problemChanged =
  'Die Nachricht wurde inzwischen geändert. Kopiere deinen Text, brich ab und bearbeite sie neu.'

export const message = 'Nachricht'
export const messageTo = (place: string) => `Nachricht an ${place}`
export const send = 'Senden'
export const sending = 'Wird gesendet …'
export const sendingAgain = 'Noch nicht gesendet. Neuer Versuch läuft …'
export const onItsWay = 'Deine Nachricht, unterwegs'
export const edit = 'Bearbeiten'
export const discard = 'Verwerfen'
export const notSent = 'Nicht gesendet'
export const tooLong = (most: number) => `Die Nachricht ist länger als ${number(most)} Zeichen.`
export const sendsByEnter = 'Enter sendet, Shift und Enter beginnen eine neue Zeile.'
export const sendsByButton = 'Strg und Enter senden.'
export const reactionBy = (emoji: string, who: string) => `${emoji}: ${who}`
export const drafts = 'Entwürfe'
export const noDrafts = 'Es gibt nichts Begonnenes, das nicht gesendet ist.'
export const outbox = 'Nicht gesendet'
export const scheduled = 'Geplant'
export const editScheduled = 'Geplante Nachricht bearbeiten'
export const reminders = 'Erinnerungen'
export const refusedCount = (count: number) => `${number(count)} nicht gesendet`
export const signOutLoses = (count: number) =>
  count === 1
    ? 'Eine Nachricht ist noch nicht gesendet und ginge verloren.'
    : `${number(count)} Nachrichten sind noch nicht gesendet und gingen verloren.`
export const signOutAnyway = 'Abmelden und sie verlieren'

export const devices = 'Geräte'
/** By `ShellState`. */
export const shells = {
  none: 'Dieses Gerät speichert die neuesten Nachrichten verschlüsselt, für einen Start ohne Verbindung.',
  installed: 'Dieses Gerät speichert die neuesten Nachrichten verschlüsselt und startet auch ohne Verbindung.',
  refused:
    'Dieses Gerät speichert die neuesten Nachrichten verschlüsselt. Es kann nicht ohne Verbindung starten, nicht installiert werden und keine Push-Benachrichtigungen bekommen: Dieser Browser vertraut dem Zertifikat des Servers nicht. Bitte den Administrator der Appliance um ein Zertifikat einer vertrauenswürdigen Stelle.',
}
export const keepsNothing = 'Dieses Gerät speichert keine Nachrichten.'
export const devicesLead = 'Alles, was mit deinem Konto angemeldet ist. Wenn du etwas widerrufst, endet es sofort.'
export const sessions = 'Browser'
export const apiKeys = 'Apps und Programme'
export const thisDevice = 'Dieser Browser'
export const revoke = 'Widerrufen'
export const revoking = 'Wird widerrufen …'
export const revokeNamed = (name: string) => `${name} widerrufen`
export const revokeTitle = (name: string) => `${name} widerrufen?`
export const revokeText =
  'Es wird sofort abgemeldet, und was es vom Chat gespeichert hat, wird bei seinem nächsten Kontakt gelöscht.'
export const revokeThis = 'Du wirst hier abgemeldet.'
export const sinceAndUsed = (since: Date, used: Date) =>
  `Angemeldet am ${dayShort(since)}, zuletzt benutzt am ${dayShort(used)}`

export const settings = 'Einstellungen'
export const settingsSections = {
  profile: 'Profil',
  account: 'Konto',
  devices: 'Geräte',
  notifications: 'Benachrichtigungen',
  display: 'Anzeige',
  privacy: 'Privatsphäre',
  'alert-words': 'Signalwörter',
  muted: 'Stumm und gefolgt',
  bots: 'Deine Bots',
  files: 'Deine Dateien',
}
export const saved = 'Gespeichert.'
export const reset = 'Zurücksetzen'
export const name = 'Name'
export const description = 'Beschreibung'
export const create = 'Anlegen'
export const rename = 'Umbenennen'
export const renameNamed = (name: string) => `${name} umbenennen`
export const deactivate = 'Deaktivieren'
export const deactivateNamed = (name: string) => `${name} deaktivieren?`
export const deactivated = 'deaktiviert'
export const choosePicture = 'Bild wählen'
export const removePicture = 'Bild entfernen'
export const aboutYou = 'Über dich'
export const noValue = 'Keine Angabe'
export const status = 'Status'
export const statusText = 'Text des Status'
export const statusEmoji = 'Emoji des Status'
export const setStatus = 'Status setzen'
export const clearStatus = 'Status löschen'
export const oldPassword = 'Aktuelles Passwort'
export const newPassword = 'Neues Passwort'
export const changePassword = 'Passwort ändern'
export const endAccount = 'Organisation verlassen'
export const endAccountText =
  'Dein Konto wird deaktiviert, und alle deine Geräte werden abgemeldet. Deine Nachrichten bleiben. Ein Administrator kann das Konto wieder aktivieren.'
export const endAccountAction = 'Mein Konto deaktivieren'
export const endAccountTitle = 'Dein Konto deaktivieren?'
export const inThisBrowser = 'In diesem Browser'
export const everywhere = 'Auf allen deinen Geräten'
export const notifyDirect = 'Direktnachrichten und Erwähnungen'
export const notifyChannels = 'Alle Nachrichten in Kanälen'
export const notifyFollowed = 'Themen, denen du folgst'
export const notifyAway = 'Telefone'
export const topics = 'Themen'
export const userSettings = {
  enable_desktop_notifications: 'Benachrichtigungen anzeigen',
  enable_sounds: 'Einen Ton abspielen',
  pm_content_in_desktop_notifications: 'In Benachrichtigungen den Text von Direktnachrichten anzeigen',
  enable_stream_desktop_notifications: 'Benachrichtigungen anzeigen',
  enable_stream_audible_notifications: 'Einen Ton abspielen',
  enable_stream_push_notifications: 'Telefone benachrichtigen',
  wildcard_mentions_notify: 'Bei @all benachrichtigen',
  enable_followed_topic_desktop_notifications: 'Benachrichtigungen anzeigen',
  enable_followed_topic_audible_notifications: 'Einen Ton abspielen',
  enable_followed_topic_push_notifications: 'Telefone benachrichtigen',
  enable_followed_topic_wildcard_mentions_notify: 'Bei @all und @topic benachrichtigen',
  enable_offline_push_notifications: 'Telefone benachrichtigen, während du abwesend bist',
  enable_online_push_notifications: 'Telefone auch benachrichtigen, während du am Computer bist',
  automatically_follow_topics_policy: 'Themen automatisch folgen',
  automatically_unmute_topics_in_muted_streams_policy: 'Stummschaltung in stummen Kanälen automatisch aufheben',
  automatically_follow_topics_where_mentioned: 'Themen folgen, in denen du erwähnt wirst',
  email_address_visibility: 'Wer deine E-Mail-Adresse sieht',
  presence_enabled: 'Anderen zeigen, ob du aktiv bist',
  send_private_typing_notifications: 'Anderen zeigen, dass du eine Direktnachricht schreibst',
  send_stream_typing_notifications: 'Anderen zeigen, dass du in einem Kanal schreibst',
  send_read_receipts: 'Anderen zeigen, was du gelesen hast',
  allow_private_data_export: 'Administratoren erlauben, deine privaten Nachrichten zu exportieren',
  default_language: 'Sprache',
  timezone: 'Zeitzone',
  receives_typing_notifications: 'Anzeigen, wer gerade schreibt',
  twenty_four_hour_time: 'Uhr',
  enter_sends: 'Enter sendet eine Nachricht',
  enable_drafts_synchronization: 'Entwürfe auf dem Server speichern',
  web_mark_read_on_scroll_policy: 'Nachrichten beim Blättern als gelesen markieren',
  web_home_view: 'Erste Ansicht',
  web_left_sidebar_show_channel_folders: 'Ordner von Kanälen in der Seitenleiste anzeigen',
  web_inbox_show_channel_folders: 'Ordner von Kanälen im Posteingang anzeigen',
  desktop_icon_count_display: 'Zahl der ungelesenen im Titel',
}
export const topicPolicies = {
  1: 'an denen du teilnimmst',
  2: 'in denen du schreibst',
  3: 'die du beginnst',
  4: 'nie',
}
export const emailVisibilities = {
  1: 'alle',
  2: 'Mitglieder',
  5: 'Moderatoren und höher',
  3: 'Administratoren',
  4: 'niemand',
}
export const markReadPolicies = { 1: 'immer', 2: 'in Themen und Direktnachrichten', 3: 'nie' }
export const homeViews = { inbox: 'Posteingang', recent: 'Letzte Unterhaltungen', all_messages: 'Alle Nachrichten' }
export const newDirectMessage = 'Neue Direktnachricht'
export const allowNotifications = 'Benachrichtigungen erlauben'
export const notificationsUndecided = 'Dieser Browser fragt dich um Erlaubnis, bevor er Benachrichtigungen anzeigt.'
export const notificationsDenied =
  'Dieser Browser zeigt keine Benachrichtigungen dieser Seite. Erlaube sie in seinen Einstellungen für diese Website.'
export const newMessage = 'Neue Nachricht'
export const openToRead = 'Öffne den Chat, um sie zu lesen'
export const whilePageIsClosed = 'Solange diese Seite geschlossen ist'
export const pushThisBrowser = 'In diesem Browser benachrichtigen'
export const pushHint = (hosts: readonly string[], hasContent: boolean): string =>
  `Der Push-Dienst deines Browsers stellt die Benachrichtigungen zu. Er erfährt, wann du eine bekommst, aber weder Absender noch Text${
    hasContent ? ', die für deinen Browser verschlüsselt sind' : ''
  }. Erlaubte Push-Dienste: ${hosts.join(', ')}.`
export const pushIsOff = 'Der Betreiber des Servers hat keine Push-Dienste erlaubt.'
export const pushNeedsDevice =
  'Melde dich ab und mit „Das ist mein Gerät“ wieder an. Sonst behält dieser Browser nichts, was eine Benachrichtigung braucht.'
export const pushNotPossible =
  'Dieser Browser kann keine Benachrichtigungen bekommen, solange die Seite geschlossen ist: Er vertraut dem Zertifikat des Servers nicht oder hat keinen Push-Dienst.'
export const pushServiceFailed = (reason: string): string =>
  `Der Push-Dienst dieses Browsers antwortet nicht: ${reason}`
export const pushTest = 'Test senden'
export const pushTesting = 'Wird gesendet …'
export const pushTested = 'Benachrichtigungen dieser Seite kommen in diesem Browser an.'
export const pushTestedBy = (status: number): string =>
  status >= 200 && status < 300
    ? 'Der Push-Dienst hat die Benachrichtigung angenommen.'
    : `Der Push-Dienst hat die Benachrichtigung mit dem Status ${status} abgelehnt.`
export const iconCounts = {
  1: 'alle Nachrichten',
  2: 'Direktnachrichten, Erwähnungen, gefolgte Themen',
  3: 'Direktnachrichten und Erwähnungen',
  4: 'keine',
}
export const timezoneOfDevice = 'Wie das Gerät'
export const clockOfLanguage = 'Wie die Sprache'
export const clock24 = '14:30'
export const clock12 = '2:30 PM'
export const alertWordsLead = 'Eine Nachricht mit einem dieser Wörter zählt als Erwähnung.'
export const alertWord = 'Neues Signalwort'
export const mutedPeople = 'Stummgeschaltete Personen'
export const mutedNobody = 'Du hast niemanden stummgeschaltet.'
export const mute = 'Stummschalten'
export const unmute = 'Stummschaltung aufheben'
export const noTopicPolicies = 'Du folgst keinem Thema und hast keines stummgeschaltet.'
export const visibilityPolicies = { 1: 'stumm', 2: 'nicht stumm', 3: 'gefolgt' }
export const filesUsed = (size: string) => `Deine Dateien belegen ${size}.`
export const fileAbout = (size: string, time: Date, messages: number) =>
  `${size}, ${dayShort(time)}, in ${messages === 1 ? 'einer Nachricht' : `${number(messages)} Nachrichten`}`
export const removeFileText = 'Nachrichten, die auf sie verweisen, zeigen einen toten Link.'

export const newBot = 'Neuer Bot'
export const noBots = 'Keine Bots.'
export const ownedBy = (name: string) => `von ${name}`
export const showKey = 'Schlüssel'
export const keyOf = (name: string) => `Schlüssel von ${name}`
export const keyText = 'Wer diesen Schlüssel hat, handelt als der Bot.'
export const replaceKey = 'Schlüssel ersetzen'
export const deactivateBotText = 'Sein Schlüssel endet sofort. Ein Administrator kann ihn wieder aktivieren.'
export const botShortName = 'Kurzname'
export const botShortNameHint = 'Seine Adresse beginnt damit, wie in backup-bot@….'
export const botType = 'Art'
export const botTypes = { 1: 'Allgemein', 2: 'Eingehender Webhook', 3: 'Ausgehender Webhook' }
export const botUrl = 'Adresse für Aufrufe'
export const botUrlHint = 'Die Appliance ruft nur Hosts auf, die ihr Betreiber freigegeben hat.'

export const people = 'Personen'
export const bots = 'Bots'
export const bot = 'Bot'
export const activePeople = 'Aktiv'
export const deactivatedPeople = 'Deaktiviert'
export const nobodyFound = 'Niemand heißt so.'
export const findPeople = 'Personen finden'
export const addPeople = 'Personen hinzufügen'
export const choosePeople = 'Personen und Gruppen wählen'
export const chosenPeople = 'Gewählt'
export const pickerHint = 'Enter nimmt die erste.'
export const removeFromList = (name: string) => `${name} entfernen`
export const newDirect = 'Neue Direktnachricht'
export const writeMessage = 'Nachricht schreiben'
export const roles = {
  100: 'Eigentümer',
  200: 'Administrator',
  300: 'Moderator',
  400: 'Mitglied',
  600: 'Gast',
}
export const role = 'Rolle'
export const owner = 'Eigentümer'
export const localTime = 'Ortszeit'
export const memberSince = 'Dabei seit'
export const administration = 'Verwaltung'
export const reactivate = 'Wieder aktivieren'
export const reactivateText =
  'Das Konto ist wie zuvor. Was inzwischen in seinen Kanälen geschrieben wurde, hat es nicht erreicht.'
export const deactivateText = 'Das Konto wird überall sofort abgemeldet, und seine Bots enden.'
export const theirContent = 'Nachrichten und Profil'
export const keepContent = 'Behalten'
export const deleteContent = 'Endgültig löschen'
export const groups = 'Gruppen'
export const systemGroups = {
  'role:owners': 'Eigentümer',
  'role:administrators': 'Administratoren und höher',
  'role:moderators': 'Moderatoren und höher',
  'role:fullmembers': 'Vollmitglieder und höher',
  'role:members': 'Mitglieder und höher',
  'role:everyone': 'Alle, auch Gäste',
  'role:nobody': 'Niemand',
}

export const browseChannels = 'Alle Kanäle'
export const newChannel = 'Neuer Kanal'
export const findChannel = 'Kanal finden'
export const noChannels = 'Diesen Kanal gibt es nicht.'
export const settingsOf = (name: string) => `Einstellungen von ${name}`
export const openChannel = 'Kanal öffnen'
export const privateChannel = 'privat'
export const subscriberCount = (count: number) => (count === 1 ? 'ein Abonnent' : `${number(count)} Abonnenten`)
export const subscribers = (count: number) => `Abonnenten ${number(count)}`
export const andOthers = (count: number) => `und ${number(count)} andere`
export const joinChannel = 'Beitreten'
export const joinNamed = (name: string) => `${name} beitreten`
export const leave = 'Verlassen'
export const leaveNamed = (name: string) => `${name} verlassen`
export const whoReads = 'Wer ihn lesen kann'
export const channelKinds = {
  public: 'Alle Mitglieder',
  private: 'Abonnenten, mit dem ganzen Verlauf',
  hidden: 'Abonnenten, ab dem Tag ihres Beitritts',
}
export const forYou = 'Für dich'
export const color = 'Farbe'
export const pinned = 'Zuerst anzeigen'
export const mutedChannel = 'Stummschalten'
export const asEverywhere = 'wie in deinen Einstellungen'
export const yes = 'ja'
export const no = 'nein'
export const channelNotifications = {
  desktop_notifications: 'Benachrichtigungen anzeigen',
  audible_notifications: 'Einen Ton abspielen',
  push_notifications: 'Telefone benachrichtigen',
  wildcard_mentions_notify: 'Bei @all benachrichtigen',
}
export const topicsPolicy = 'Nachrichten ohne Thema'
export const topicsPolicies = {
  inherit: 'wie in der Organisation',
  allow_empty_topic: 'erlaubt',
  disable_empty_topic: 'nicht erlaubt',
  empty_topic_only: 'nur diese: Der Kanal hat keine Themen',
}
export const retentionDays = 'Nachrichten löschen nach Tagen'
export const forever = 'nie'
export const channelRetentionHint = 'Leer: wie in der Organisation. „nie“ behält alle.'
export const defaultChannel = 'Neue Personen abonnieren ihn'
export const permissions = 'Berechtigungen'
export const channelPermissions = {
  can_administer_channel_group: 'Diesen Kanal verwalten',
  can_subscribe_group: 'Abonnieren',
  can_add_subscribers_group: 'Andere hinzufügen',
  can_remove_subscribers_group: 'Abonnenten entfernen',
  can_send_message_group: 'Nachrichten senden',
  can_create_topic_group: 'Themen beginnen',
  can_resolve_topics_group: 'Themen als erledigt markieren',
  can_move_messages_within_channel_group: 'Nachrichten in diesem Kanal verschieben',
  can_move_messages_out_of_channel_group: 'Nachrichten in andere Kanäle verschieben',
  can_delete_any_message_group: 'Jede Nachricht löschen',
  can_delete_own_message_group: 'Eigene Nachrichten löschen',
}
export const archive = 'Archivieren'
export const archived = 'Archiviert'
export const archiveNamed = (name: string) => `#${name} archivieren?`
export const archiveText = 'In einem archivierten Kanal kann niemand schreiben. Seine Nachrichten bleiben.'
export const unarchive = 'Wieder öffnen'

export const search = 'Suche'
export const searchFor = 'Wörter, Personen, Kanäle'
export const searchHint = 'Zum Beispiel: from:"Ben Becker" channel:ops has:link Backup'
export const mentions = 'Erwähnungen'
export const starredMessages = 'Markierte Nachrichten'
export const ownReacted = 'Deine Nachrichten mit Reaktionen'
export const pictures = 'Bilder'
export const resultCount = (count: number) => (count === 1 ? 'Eine Nachricht' : `${number(count)} Nachrichten`)
export const noResults = 'Keine Nachricht passt.'
export const older = 'Ältere'
export const operators = {
  channel: 'in einem Kanal',
  topic: 'in einem Thema',
  sender: 'von einer Person; auch from:',
  dm: 'Direktnachrichten mit',
  'dm-including': 'alle Direktnachrichten mit',
  mentions: 'die jemanden erwähnen',
  is: 'ungelesen, erwähnt, markiert, …',
  has: 'ein Link, ein Bild, eine Datei, eine Reaktion',
  in: 'home lässt stummgeschaltete weg',
  id: 'eine Nachricht nach ihrer Nummer',
}

export const organization = 'Organisation'
export const organizationSections = {
  profile: 'Organisation',
  people: 'Konten',
  invitations: 'Einladungen',
  permissions: 'Berechtigungen',
  rules: 'Regeln',
  defaults: 'Neue Konten',
  channels: 'Kanäle und Ordner',
  groups: 'Gruppen',
  bots: 'Bots',
  emoji: 'Emoji',
  fields: 'Profilfelder',
  linkifiers: 'Linkmuster',
  playgrounds: 'Playgrounds',
  domains: 'Domains',
  exports: 'Exporte',
}
export const notForYou = 'Nur Administratoren ändern die Organisation.'
export const cannotUndo = 'Niemand kann das rückgängig machen.'
export const editNamed = (name: string) => `${name} bearbeiten`
export const none = 'keine'
export const channel = 'Kanal'
export const organizationType = 'Art'
export const organizationTypes = [
  [0, 'keine Angabe'],
  [10, 'Unternehmen'],
  [20, 'Open Source'],
  [30, 'Bildung (gemeinnützig)'],
  [35, 'Bildung (gewinnorientiert)'],
  [40, 'Forschung'],
  [50, 'Veranstaltung'],
  [60, 'Gemeinnützig'],
  [70, 'Behörde'],
  [80, 'Politische Gruppe'],
  [90, 'Gemeinschaft'],
  [100, 'Privat'],
  [1000, 'Andere'],
] as const
export const icon = 'Symbol'
export const logo = 'Logo'
export const nightLogo = 'Logo für dunkle Bildschirme'
export const endOrganization = 'Ende der Organisation'
export const endOrganizationText =
  'Alle werden abgemeldet, und niemand kann sich anmelden. Die Nachrichten bleiben, bis der Administrator der Appliance sie löscht oder die Organisation wieder aktiviert.'
export const peopleLead =
  'Ein Konto ohne Einladung bekommt sein Passwort von dir. Im Profil stehen die Rolle und das Ende eines Kontos.'
export const newAccount = 'Neues Konto'
export const firstPassword = 'Erstes Passwort'
export const firstPasswordHint = 'Bitte die Person, es zu ändern.'
export const manage = 'Verwalten'
export const manageNamed = (name: string) => `${name} verwalten`
export const invite = 'Einladen'
export const inviteLead = 'Es werden keine E-Mails verschickt: Gib jeden Link auf einem Weg weiter, dem du vertraust.'
export const inviteWay = 'Wer'
export const inviteWays = { email: 'Personen nach E-Mail-Adresse', link: 'alle mit einem Link' }
export const inviteEmails = 'E-Mail-Adressen'
export const inviteEmailsHint = 'Eine pro Zeile.'
export const inviteDays = 'Tage, bis sie abläuft'
export const inviteDaysHint = 'Leer: Sie läuft nicht ab.'
export const openInvitations = 'Offene Einladungen'
export const noInvitations = 'Keine Einladung ist offen.'
export const linkForSeveral = 'Link für mehrere Personen'
export const sendLinkAgain = 'Erneuern'
export const invitationAbout = (role: string, by: string, end: Date | null) =>
  `${role}, von ${by}, ${end === null ? 'läuft nicht ab' : `bis ${dayShort(end)}`}`
export const realmPermissions = [
  [
    'Beitritt',
    {
      can_invite_users_group: 'Personen einladen',
      create_multiuse_invite_group: 'Links für mehrere Personen anlegen',
      can_access_all_users_group: 'Alle Konten sehen',
    },
  ],
  [
    'Kanäle',
    {
      can_create_public_channel_group: 'Öffentliche Kanäle anlegen',
      can_create_private_channel_group: 'Private Kanäle anlegen',
      can_create_web_public_channel_group: 'Kanäle anlegen, die alle im Web lesen',
      can_add_subscribers_group: 'Andere hinzufügen',
      can_mention_many_users_group: 'Viele Personen mit @all erwähnen',
    },
  ],
  [
    'Nachrichten',
    {
      can_move_messages_between_topics_group: 'Nachrichten in andere Themen verschieben',
      can_move_messages_between_channels_group: 'Nachrichten in andere Kanäle verschieben',
      can_resolve_topics_group: 'Themen als erledigt markieren',
      can_delete_any_message_group: 'Jede Nachricht löschen',
      can_delete_own_message_group: 'Eigene Nachrichten löschen',
      can_set_delete_message_policy_group: 'Festlegen, wer in einem Kanal Nachrichten löscht',
      can_set_topics_policy_group: 'Festlegen, ob ein Kanal Themen hat',
      direct_message_initiator_group: 'Direktnachrichten beginnen',
      direct_message_permission_group: 'An Direktnachrichten teilnehmen',
      can_summarize_topics_group: 'Themen zusammenfassen',
    },
  ],
  [
    'Gruppen, Bots und Emoji',
    {
      can_create_groups: 'Gruppen anlegen',
      can_manage_all_groups: 'Alle Gruppen verwalten',
      can_create_bots_group: 'Bots anlegen',
      can_create_write_only_bots_group: 'Eingehende Webhooks anlegen',
      can_add_custom_emoji_group: 'Emoji hinzufügen',
    },
  ],
] as const
export const realmSettings = {
  allow_message_editing: 'Nachrichten lassen sich bearbeiten',
  message_content_edit_limit_seconds: 'Zeit zum Bearbeiten',
  message_content_delete_limit_seconds: 'Zeit zum Löschen',
  move_messages_within_stream_limit_seconds: 'Zeit zum Verschieben in ein anderes Thema',
  move_messages_between_streams_limit_seconds: 'Zeit zum Verschieben in einen anderen Kanal',
  message_edit_history_visibility_policy: 'Bearbeitungsverlauf',
  topics_policy: 'Nachrichten ohne Thema',
  enable_read_receipts: 'Anzeigen, wer eine Nachricht gelesen hat',
  inline_image_preview: 'Bilder in Nachrichten anzeigen',
  inline_url_embed_preview: 'Vorschau verlinkter Seiten anzeigen',
  send_channel_events_messages: 'Einem Kanal Änderungen seiner Einstellungen mitteilen',
  default_code_block_language: 'Sprache von Codeblöcken',
  name_changes_disabled: 'Nur Administratoren ändern Namen',
  email_changes_disabled: 'Nur Administratoren ändern E-Mail-Adressen',
  avatar_changes_disabled: 'Nur Administratoren ändern Bilder',
  require_unique_names: 'Jeder Name kommt nur einmal vor',
  enable_guest_user_indicator: 'Gäste kennzeichnen',
  enable_guest_user_dm_warning: 'Vor einer Direktnachricht an einen Gast warnen',
  enable_spectator_access: 'Alle im Web lesen Kanäle, die im Web öffentlich sind',
  default_language: 'Sprache neuer Konten',
  emails_restricted_to_domains: 'Nur Adressen aufgeführter Domains treten bei',
  disallow_disposable_email_addresses: 'Keine Wegwerfadressen',
  waiting_period_threshold: 'Tage, bis ein neues Mitglied Vollmitglied ist',
  message_retention_days: 'Nachrichten löschen nach Tagen (-1: nie)',
  page_offline_days: 'Tage, die Geräte Nachrichten ohne Verbindung behalten (0: nichts wird gespeichert)',
  new_stream_announcements_stream_id: 'Neue Kanäle werden angekündigt in',
  signup_announcements_stream_id: 'Neue Konten werden angekündigt in',
  moderation_request_channel_id: 'Meldungen gehen an (ein privater Kanal)',
}
export const timeLimits = [
  [null, 'keine Grenze'],
  [60, 'eine Minute'],
  [600, '10 Minuten'],
  [3600, 'eine Stunde'],
  [86_400, 'ein Tag'],
  [604_800, 'eine Woche'],
] as const
export const historyPolicies = [
  ['all', 'Änderungen und Verschiebungen'],
  ['moves', 'nur Verschiebungen'],
  ['none', 'verborgen'],
] as const
export const realmTopicsPolicies = [
  ['allow_empty_topic', 'erlaubt'],
  ['disable_empty_topic', 'nicht erlaubt'],
] as const
export const accounts = 'Konten'
export const forOwners = 'Nur für Eigentümer'
export const notices = 'Ankündigungen'
export const welcome = 'Begrüßung'
export const welcomeText = 'Nachricht an neue Personen'
export const welcomeHint = 'Du bekommst sie so, wie neue Personen sie bekommen.'
export const defaultsLead = 'Alle ändern diese Einstellungen für sich selbst. Bestehende Konten behalten ihre.'
export const channelsLead = 'Jeder Kanal hat eigene Einstellungen:'
export const defaultChannels = 'Neue Personen abonnieren'
export const newDefaultChannel = 'Kanal hinzufügen'
export const noDefaultChannels = 'Keinen Kanal.'
export const removeDefaultText = 'Wer abonniert ist, bleibt es.'
export const channelGroups = 'Gruppen von Kanälen, nach Namen'
export const newChannelGroup = 'Neue Gruppe von Kanälen'
export const noChannelGroups = 'Keine Gruppen von Kanälen.'
export const folder = 'Ordner'
export const folders = 'Ordner'
export const otherChannels = 'Andere Kanäle'
export const newFolder = 'Neuer Ordner'
export const noFolders = 'Keine Ordner.'
export const newGroup = 'Neue Gruppe'
export const noGroups = 'Keine Gruppen.'
export const members = 'Mitglieder'
export const subgroups = 'Gruppen, deren Mitglieder dazugehören'
export const membersOf = (name: string) => `Mitglieder von ${name}`
export const memberCount = (count: number) => (count === 1 ? 'ein Mitglied' : `${number(count)} Mitglieder`)
export const permissionsOf = (name: string) => `Berechtigungen von ${name}`
export const deactivateGroupText = 'Eine deaktivierte Gruppe kann niemand erwähnen, und sie gibt keine Berechtigungen.'
export const groupPermissions = {
  can_mention_group: 'Diese Gruppe erwähnen',
  can_join_group: 'Beitreten',
  can_leave_group: 'Verlassen',
  can_add_members_group: 'Mitglieder hinzufügen',
  can_remove_members_group: 'Mitglieder entfernen',
  can_manage_group: 'Diese Gruppe verwalten',
}
export const noOwnEmoji = 'Keine eigenen Emoji.'
export const emojiName = 'Name des neuen Emoji'
export const removeEmojiText = 'Nachrichten, die es enthalten, behalten es. Niemand kann es mehr wählen.'
export const newField = 'Neues Feld'
export const noFields = 'Keine Felder.'
export const fieldHint = 'Hinweis'
export const fieldType = 'Art'
export const fieldTypes = [
  ['1', 'Kurzer Text'],
  ['2', 'Langer Text'],
  ['3', 'Auswahl'],
  ['4', 'Datum'],
  ['5', 'Link'],
  ['6', 'Personen'],
  ['8', 'Pronomen'],
] as const
export const fieldOptions = 'Möglichkeiten einer Auswahl'
export const fieldOptionsHint = 'Eine pro Zeile.'
export const fieldRequired = 'Alle werden gebeten, es auszufüllen'
export const fieldEditable = 'Personen ändern es selbst'
export const removeFieldText = 'Was darin eingetragen ist, wird gelöscht.'
export const toTop = 'Nach oben'
export const toTopNamed = (name: string) => `Nach oben: ${name}`
export const linkifiersLead =
  'Text, der zu einem Muster passt, wird ein Link, so wie #123 ein Link zu einem Ticket wird.'
export const newLinkifier = 'Neues Linkmuster'
export const noLinkifiers = 'Keine Linkmuster.'
export const pattern = 'Muster'
export const patternHint = 'Zum Beispiel: #(?P<id>[0-9]+)'
export const urlTemplate = 'Adresse'
export const urlTemplateHint = 'Zum Beispiel: https://tickets.example.org/{id}'
export const exampleText = 'Beispiel'
export const reverseTemplate = 'Text einer eingefügten Adresse'
export const reverseTemplateHint =
  'Zum Beispiel: #{id}. Eine eingefügte Adresse wird zu diesem Text. Braucht ein Beispiel.'
export const alternativeTemplates = 'Andere Adressen derselben Sache'
export const alternativeTemplatesHint = 'Eine pro Zeile. Auch sie werden beim Einfügen zu dem Text.'
export const playgroundsLead = 'Codeblöcke in einer Sprache bekommen einen Link zu einer Seite, die sie ausführt.'
export const newPlayground = 'Neuer Playground'
export const noPlaygrounds = 'Keine Playgrounds.'
export const codeLanguage = 'Sprache des Codes'
export const playgroundUrlHint = 'Zum Beispiel: https://play.example.org/?code={code}'
export const domainsLead = 'Solange der Beitritt auf Domains beschränkt ist, treten nur Adressen dieser Domains bei.'
export const newDomain = 'Neue Domain'
export const noDomains = 'Keine Domains.'
export const domain = 'Domain'
export const withSubdomains = 'Auch Subdomains'
export const removeDomainText = 'Mit der letzten Domain endet die Beschränkung.'
export const exportType = 'Umfang'
export const exportTypes = {
  public: 'Öffentliche Nachrichten und Dateien',
  full_with_consent: 'Diese und private von Personen, die zugestimmt haben',
  full_without_consent: 'Alles',
}
export const consents = (count: number, all: number) =>
  `${number(count)} von ${number(all)} Personen ${count === 1 ? 'hat' : 'haben'} zugestimmt.`
export const makeExport = 'Export anlegen'
export const refresh = 'Aktualisieren'
export const noExports = 'Keine Exporte.'
export const exportFailed = 'fehlgeschlagen'
export const exportPending = 'in Arbeit'
export const exportDone = 'fertig'
export const download = 'Herunterladen'

export const actions = 'Aktionen'
export const addReaction = 'Reaktion hinzufügen'
export const findEmoji = 'Emoji finden'
export const noEmoji = 'Kein Emoji heißt so.'
export const emojiGroups = 'Gruppen von Emoji'
export const emojiGroupNames = {
  smileys_emotion: 'Smileys und Gefühle',
  people_body: 'Personen und Körper',
  animals_nature: 'Tiere und Natur',
  food_drink: 'Essen und Trinken',
  travel_places: 'Reisen und Orte',
  activities: 'Aktivitäten',
  objects: 'Gegenstände',
  symbols: 'Symbole',
  flags: 'Flaggen',
}
export const popularEmoji = 'Beliebte und eigene'
export const quote = 'Zitieren'
export const said = (mention: string, link: string) => `${mention} [hat geschrieben](${link})`
export const more = 'Mehr'
export const star = 'Markieren'
export const unstar = 'Markierung entfernen'
export const starred = 'Markiert'
export const copyLink = 'Link kopieren'
export const markUnread = 'Ab hier als ungelesen markieren'
export const history = 'Bearbeitungsverlauf'
export const readBy = 'Gelesen von'
export const readByNobody = 'Noch von niemandem, oder sie zeigen es nicht.'
export const report = 'An Moderatoren melden'
export const reportText = 'Moderatoren sehen die Nachricht, deinen Namen und was du hier schreibst.'
export const reportReason = 'Grund'
export const reportReasons = {
  spam: 'Spam',
  harassment: 'Belästigung',
  inappropriate: 'Unangemessener Inhalt',
  norms: 'Gegen die Regeln hier',
  other: 'Etwas anderes, wie beschrieben',
}
export const topicMenu = 'Optionen dieses Themas'
export const markRead = 'Als gelesen markieren'
export const follow = 'Folgen'
export const unfollow = 'Nicht mehr folgen'
export const resolve = 'Als erledigt markieren'
export const unresolve = 'Als nicht erledigt markieren'
export const deleteTopic = (topic: string) => `Alle Nachrichten von ${topic} löschen?`
export const remind = 'Erinnern'
export const remindAction = 'Erinnerung setzen'
export const remove = 'Löschen'
export const deleting = 'Wird gelöscht …'
export const deleteTitle = 'Diese Nachricht löschen?'
export const deleteText = 'Sie verschwindet für alle, mit ihren Reaktionen. Niemand kann das rückgängig machen.'
export const cancel = 'Abbrechen'
export const save = 'Speichern'
export const saving = 'Wird gespeichert …'
export const notSaved = 'Nicht gespeichert'
export const editText = 'Text der Nachricht'
export const when = 'Wann'
export const dismiss = 'Schließen'
export const add = 'Hinzufügen'
export const poll = 'Umfrage'
export const vote = (option: string, count: number) =>
  `${option}: ${number(count)} ${count === 1 ? 'Stimme' : 'Stimmen'}`
export const newOption = 'Neue Möglichkeit'
export const tasks = 'Aufgaben'
export const newTask = 'Neue Aufgabe'

export const files = 'Dateien'
export const attach = 'Dateien anhängen'
export const uploading = (name: string) => `${name} wird hochgeladen`
export const uploadingFiles = 'Wird hochgeladen …'
export const removeFile = (name: string) => `${name} entfernen`
export const useOriginal = (size: string) => `Original senden (${size})`
export const insertEmoji = 'Emoji einfügen'
export const snippets = 'Textbausteine'
export const noSnippets = 'Noch keine. Schreib einen Text und speichere ihn hier.'
export const snippetTitle = 'Text speichern als'
export const removeNamed = (name: string) => `${name} löschen`
export const partMissing = 'Ein Teil dieser Seite fehlt. Lade die Seite neu.'
export const preview = 'Vorschau'
export const schedule = 'Planen'
export const suggestionList = 'Vorschläge'
export const suggestions = (count: number) =>
  `${count === 1 ? 'Ein Vorschlag' : `${number(count)} Vorschläge`}: Pfeile und Enter wählen`
export const wildcard = 'benachrichtigt alle hier'
export const commands = {
  me: 'sagt, was du tust',
  poll: 'stellt eine Frage; eine Möglichkeit pro Zeile',
  todo: 'beginnt eine Liste von Aufgaben; eine pro Zeile',
}
