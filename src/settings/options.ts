import type { SourceEvent } from '../core/ports/source.ts';
import type { CollectionName } from '../streams/catalogue.ts';
import type { RunProgressEvent } from '../sync/progress.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import type { OPTIONS, OptionEntry, REQUEST_OPTIONS, RETENTION_OPTIONS } from './option-table.ts';

type OptionTable = typeof OPTIONS;

export type NumberOption = {
  [Name in keyof OptionTable]: OptionTable[Name]['type'] extends 'number' ? Name : never;
}[keyof OptionTable];

type ChoiceOf<Entry> = Entry extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;

type OptionValue<Entry extends OptionEntry> = {
  string: ChoiceOf<Entry>;
  number: Entry extends { readonly range: { readonly word: infer Word } } ? number | Word : number;
  boolean: boolean;
  array: readonly ChoiceOf<Entry>[];
  object: AlertOptions;
}[Entry['type']];

/** `alerts` of the config file and of the library, see docs/alerts.md. Everything in it is checked when it is read. */
export interface AlertOptions {
  readonly channels: Readonly<Record<string, object>>;
  readonly rules?: readonly object[];
  /** The address of the page of `obsync serve`, for links. */
  readonly page?: string;
}

/** These options of the table, as a program passes them. */
export type OptionsNamed<Name extends keyof OptionTable> = {
  readonly [Each in Name]?: OptionValue<OptionTable[Each]> | undefined;
};

export type MirrorOptions = OptionsNamed<'db' | 'dbFile'>;

/** How a program stops a call, and follows it. */
export interface ProgressOptions<Event> {
  /** Stops the work cleanly when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the events of the work. */
  readonly onProgress?: ((event: Event) => void) | undefined;
}

export type StopOptions = Pick<ProgressOptions<never>, 'signal'>;

/** Where the service is, and how to send requests to it. Each option means the same as on the command line. */
export interface ServiceOptions
  extends MirrorOptions,
    StopOptions,
    OptionsNamed<'tokenFile' | 'allowNetworkFs' | (typeof REQUEST_OPTIONS)[number]> {
  /** Address of the service, before `/public/beta`. */
  readonly baseUrl: string;
  /** The access token; defaults to the variable `OBSYNC_TOKEN`. */
  readonly token?: string | undefined;
  /** Where `token` was found, for error messages. */
  readonly tokenFrom?: string | undefined;
  /** Whether to share the account's quota with this user's other processes in the state folder; true by default. */
  readonly shareQuota?: boolean | undefined;
}

/** `onProgress` receives requests, waits, the environments, and the progress and end of each stream. */
export interface SyncOptions
  extends ServiceOptions,
    ProgressOptions<SyncEvent>,
    OptionsNamed<'full' | 'fullEvery' | 'history' | 'allowShrink' | 'grace' | (typeof RETENTION_OPTIONS)[number]>,
    OptionsNamed<'textfile' | 'alerts'> {}

/** The library passes only collections to runs and verifications, so their results name no other streams. */
export type CollectionsEvent = RunProgressEvent<CollectionName>;

export type CollectionsReport = VerifyReport<CollectionName>;

export type SyncEvent = CollectionsEvent | SourceEvent;

export type SyncEventOf<Type extends SyncEvent['type']> = Extract<SyncEvent, { type: Type }>;
