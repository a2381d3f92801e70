/** `failing tests` becomes `Failing tests`; statuses stay as they are. */
export const capitalize = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
