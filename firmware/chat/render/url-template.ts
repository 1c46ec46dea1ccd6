/** Address templates by RFC 6570 section 2, written by administrators. */

/** An expression in braces: an operator, and variables with modifiers. */
const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g
const VARIABLE = /^((?:\w|%[0-9a-fA-F]{2})(?:\.?(?:\w|%[0-9a-fA-F]{2}))*)(?:\*|:[1-9]\d{0,3})?$/

/** Null for an invalid template. */
export function templateVariables(template: string): Set<string> | null {
  if (/[\s\p{Cc}"<>\\^`|]/u.test(template) || /[{}]/.test(template.replace(EXPRESSION, ''))) return null
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, , list]) =>
    list!.split(',').map((one) => VARIABLE.exec(one)?.[1]),
  )
  return names.includes(undefined) ? null : new Set(names as string[])
}
