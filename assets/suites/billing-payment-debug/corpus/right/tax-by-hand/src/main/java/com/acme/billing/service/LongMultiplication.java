package com.acme.billing.service;

/** Multiplication as it is taught at school. */
final class LongMultiplication {

    private LongMultiplication() {
    }

    /** Returns the digits of the product of two numbers that are written in digits. */
    static String of(String one, String other) {
        int[] columns = new int[one.length() + other.length()];
        for (int i = one.length() - 1; i >= 0; i--) {
            for (int j = other.length() - 1; j >= 0; j--) {
                int place = i + j + 1;
                int sum = columns[place] + (one.charAt(i) - '0') * (other.charAt(j) - '0');
                columns[place] = sum % 10;
                columns[place - 1] += sum / 10;
            }
        }
        StringBuilder digits = new StringBuilder();
        for (int column : columns) {
            digits.append(column);
        }
        return digits.toString();
    }
}
