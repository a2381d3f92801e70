import { checkProperties } from './check-properties.ts';

checkProperties(20, 20261120);
