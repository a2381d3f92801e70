import { type EnvironmentModel, type Kind, put } from './environment.ts';

/** The entity is sent with a field of the wrong type until it is repaired (R20). */
export function makeMalformed(env: EnvironmentModel, kind: Kind, id: string): void {
  if (env[kind].get(id)?.state === 'live') env.malformed.add(`${kind} ${id}`);
}

/** Repairs one malformed entity without touching it, so no feed reports it (R20). */
export function repairNth(env: EnvironmentModel, nth: number): void {
  const all = [...env.malformed];
  env.malformed.delete(all[nth % Math.max(1, all.length)] ?? '');
}

/** Repairs all malformed entities by changing them, so the feeds report them. */
export function repairAll(env: EnvironmentModel): void {
  for (const each of env.malformed) {
    const [kind, id] = each.split(' ') as [Kind, string];
    if (env[kind].get(id)?.state === 'live') put(env, kind, id, {});
  }
  env.malformed.clear();
}
