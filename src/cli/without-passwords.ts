/** `scheme://user:password@`, as in the address of a database. */
const USER_INFO = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s]*@/gi;
const PARAMETER = /([?&;\s](?:password|sslpassword)=)[^&\s]*/gi;

/** Removes the passwords of addresses: a last resort for texts that repeat what a user typed. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(USER_INFO, '$1:***@').replaceAll(PARAMETER, '$1***');
}
