/** What is wrong with a setting, or with what it names, in words for the console. */
export class SettingsError extends Error {}
