/** The application that exports name in their commits. */
export const APP_ID = 'obsync export';

/** A column of a Delta table, as in `schemaString`. */
export interface DeltaField {
  readonly name: string;
  readonly type: string;
  readonly nullable: true;
  readonly metadata: { readonly comment?: string };
}

export interface MetaDataAction {
  /** A UUID that stays with the table. */
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly createdTime?: number;
  /** Properties of the table, which its users may set. Another program's checkpoint may lack them. */
  readonly configuration?: Readonly<Record<string, string>>;
}

interface ProtocolAction {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

interface AddAction {
  /** Relative to the table, encoded as a URI. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** JSON. */
  readonly stats?: string;
}

interface RemoveAction {
  readonly path: string;
  readonly deletionTimestamp?: number;
  readonly dataChange: boolean;
  readonly extendedFileMetadata?: boolean;
  readonly partitionValues?: Readonly<Record<string, string>>;
  readonly size?: number;
}

/** The export that a commit belongs to: `version` is its number. */
interface TxnAction {
  readonly appId: string;
  readonly version: number;
  readonly lastUpdated?: number;
}

/** One line of a log. Readers ignore actions that they don't know. */
export type DeltaAction =
  | { readonly commitInfo: Readonly<Record<string, unknown>> }
  | { readonly protocol: ProtocolAction }
  | { readonly metaData: MetaDataAction }
  | { readonly txn: TxnAction }
  | { readonly add: AddAction }
  | { readonly remove: RemoveAction };

/** A commit that no export made. */
interface ForeignCommit {
  readonly version: number;
  /** Such as `OPTIMIZE`. */
  readonly operation: string;
}

/** The sum of a log: the table as of its newest version. */
export interface DeltaSnapshot {
  /** -1 for a table without a log. */
  readonly version: number;
  /** The version of the newest checkpoint; -1 for none. */
  readonly checkpoint: number;
  readonly protocol: ProtocolAction | null;
  readonly metaData: MetaDataAction | null;
  /** The number of the last export by `appId`. */
  readonly txns: ReadonlyMap<string, TxnAction>;
  readonly files: ReadonlyMap<string, AddAction>;
  /** What other programs did to its files and columns since the last export, oldest first. */
  readonly foreign: readonly ForeignCommit[];
  /** Removed files, by path. */
  readonly tombstones: ReadonlyMap<string, RemoveAction>;
}

export const NO_TABLE: DeltaSnapshot = {
  version: -1,
  checkpoint: -1,
  protocol: null,
  metaData: null,
  txns: new Map(),
  files: new Map(),
  foreign: [],
  tombstones: new Map(),
};

export function applyCommit(before: DeltaSnapshot, version: number, actions: readonly DeltaAction[]): DeltaSnapshot {
  let { protocol, metaData } = before;
  const [txns, files] = [new Map(before.txns), new Map(before.files)];
  const tombstones = new Map(before.tombstones);
  // The actions of one commit are unordered: a file that is both removed and added in it is part of the table.
  for (const action of actions) {
    if (!('remove' in action)) continue;
    tombstones.set(action.remove.path, action.remove);
    files.delete(action.remove.path);
  }
  for (const action of actions) {
    if ('protocol' in action) protocol = action.protocol;
    if ('metaData' in action) metaData = action.metaData;
    if ('txn' in action) txns.set(action.txn.appId, action.txn);
    if (!('add' in action)) continue;
    files.set(action.add.path, action.add);
    tombstones.delete(action.add.path);
  }
  const foreign = actions.some(isOfExport) ? [] : [...before.foreign, ...foreignCommit(before, version, actions)];
  return { ...before, version, protocol, metaData, txns, files, foreign, tombstones };
}

const isOfExport = (action: DeltaAction): boolean => 'txn' in action && action.txn.appId === APP_ID;

/** The commit if an export undoes it: one that only sets properties of the table stays. */
function foreignCommit({ metaData }: DeltaSnapshot, version: number, actions: readonly DeltaAction[]): ForeignCommit[] {
  const isUndone = actions.some(
    (action) =>
      'add' in action ||
      'remove' in action ||
      ('metaData' in action && action.metaData.schemaString !== metaData?.schemaString),
  );
  const named = actions.map((action) => ('commitInfo' in action ? action.commitInfo['operation'] : null));
  const operation = named.find((each) => typeof each === 'string' && /^[\w ]{1,40}$/.test(each));
  return isUndone ? [{ version, operation: String(operation ?? 'unknown operation') }] : [];
}
