const OLDEST = [22, 20] as const;

/** What to tell the user of a Node that cannot load the program; null if this one can. */
export function outdatedNode(): string | null {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const isOutdated = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOutdated ? `obsync needs Node ${OLDEST.join('.')} or later, but this is Node ${node}: update Node` : null;
}
