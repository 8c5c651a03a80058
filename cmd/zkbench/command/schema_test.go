package command

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// satisfies checks v by the keywords of JSON Schema that Schema uses, and fails the test at any other keyword.
func satisfies(t *testing.T, schema map[string]any, v any) bool {
	t.Helper()
	for keyword, rule := range schema {
		if !keywordHolds(t, schema, keyword, rule, v) {
			return false
		}
	}
	return true
}

func keywordHolds(t *testing.T, schema map[string]any, keyword string, rule, v any) bool {
	t.Helper()
	number, isNumber := v.(float64)
	text, isText := v.(string)
	list, isList := v.([]any)
	switch keyword {
	case "$schema", "title", "description", "default", "examples", "then", "else":
		return true
	case "type":
		types, several := rule.([]any)
		if !several {
			types = []any{rule}
		}
		return slices.ContainsFunc(types, func(want any) bool { return isType(want.(string), v) })
	case "enum":
		return slices.Contains(rule.([]any), v)
	case "minimum":
		return !isNumber || number >= rule.(float64)
	case "maximum":
		return !isNumber || number <= rule.(float64)
	case "exclusiveMinimum":
		return !isNumber || number > rule.(float64)
	case "pattern":
		return !isText || regexp.MustCompile(rule.(string)).MatchString(text)
	case "maxLength":
		return !isText || len(text) <= int(rule.(float64))
	case "minItems":
		return !isList || len(list) >= int(rule.(float64))
	case "maxItems":
		return !isList || len(list) <= int(rule.(float64))
	case "uniqueItems":
		for i := range list {
			if slices.ContainsFunc(list[:i], func(other any) bool { return reflect.DeepEqual(other, list[i]) }) {
				return false
			}
		}
		return true
	case "items":
		return !slices.ContainsFunc(list, func(item any) bool { return !satisfies(t, rule.(map[string]any), item) })
	case "anyOf", "oneOf", "allOf":
		return combined(t, keyword, rule.([]any), v)
	case "not":
		return !satisfies(t, rule.(map[string]any), v)
	case "if":
		branch := "else"
		if satisfies(t, rule.(map[string]any), v) {
			branch = "then"
		}
		then, given := schema[branch].(map[string]any)
		return !given || satisfies(t, then, v)
	}
	return objectKeywordHolds(t, schema, keyword, rule, v)
}

func combined(t *testing.T, keyword string, rules []any, v any) bool {
	t.Helper()
	holds := 0
	for _, rule := range rules {
		if satisfies(t, rule.(map[string]any), v) {
			holds++
		}
	}
	return map[string]bool{"anyOf": holds > 0, "oneOf": holds == 1, "allOf": holds == len(rules)}[keyword]
}

func objectKeywordHolds(t *testing.T, schema map[string]any, keyword string, rule, v any) bool {
	t.Helper()
	members, isObject := v.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for key, member := range members {
		inner, known := properties[key]
		switch keyword {
		case "properties":
			if known && !satisfies(t, inner.(map[string]any), member) {
				return false
			}
		case "additionalProperties":
			other, isSchema := rule.(map[string]any)
			if !known && (!isSchema || !satisfies(t, other, member)) {
				return false
			}
		case "propertyNames":
			if !satisfies(t, rule.(map[string]any), key) {
				return false
			}
		case "dependentRequired":
			needs, _ := rule.(map[string]any)[key].([]any)
			if slices.ContainsFunc(needs, func(need any) bool { return members[need.(string)] == nil }) {
				return false
			}
		}
	}
	switch keyword {
	case "required":
		return !isObject || !slices.ContainsFunc(rule.([]any), func(key any) bool { return members[key.(string)] == nil })
	case "properties", "additionalProperties", "propertyNames", "dependentRequired":
		return true
	}
	t.Fatalf("the schema has a keyword that this test does not know: %s", keyword)
	return false
}

func isType(want string, v any) bool {
	switch v := v.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}
