package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Coupon;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import java.math.BigDecimal;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Writes invoices. */
public class InvoiceService {

    /** Metered use is sold in blocks of this many units. */
    private static final long UNITS_PER_BLOCK = 1_000;

    private final InvoiceRepository invoices;
    private final CustomerRepository customers;
    private final TaxService taxes;
    private final DiscountService discounts;
    private final AtomicLong lastNumber = new AtomicLong();

    public InvoiceService(InvoiceRepository invoices, CustomerRepository customers,
                          TaxService taxes, DiscountService discounts) {
        this.invoices = invoices;
        this.customers = customers;
        this.taxes = taxes;
        this.discounts = discounts;
    }

    /**
     * Writes the next invoice and saves it.
     *
     * @param coupons the coupons that the customer entered, in the order in which they are redeemed
     */
    public Invoice generateInvoice(String customerId, List<LineItem> lines, List<Coupon> coupons) {
        Customer customer = customers.require(customerId);
        if (lines.isEmpty()) {
            throw new BillingException("an invoice needs a line");
        }
        BigDecimal subtotal = lines.stream().map(LineItem::total).reduce(Money.ZERO, BigDecimal::add);
        BigDecimal net = discounts.applyCoupons(subtotal, redeemable(coupons));
        BigDecimal tax = taxes.calculateTax(net, customer.region());
        // the number comes last: a request that is refused must not leave a gap
        String id = String.format("INV-%06d", lastNumber.incrementAndGet());
        Invoice invoice = Invoice.open(id, customerId, lines, subtotal.subtract(net), tax);
        invoices.save(invoice);
        return invoice;
    }

    /** Returns the coupons without those whose code has been seen before; the first one of a code stands. */
    private static List<Coupon> redeemable(List<Coupon> coupons) {
        return FirstOf.each(coupons, coupon -> Code.of(coupon.code()));
    }

    private record Code(String folded) {

        static Code of(String code) {
            StringBuilder folded = new StringBuilder(code.length());
            code.chars().map(c -> c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c).forEach(c -> folded.append((char) c));
            return new Code(folded.toString());
        }
    }

    /** Returns the line that bills {@code units} of metered use; a block that was begun is billed whole. */
    public LineItem usageLine(String description, long units, BigDecimal pricePerBlock) {
        if (units < 1) {
            throw new BillingException("without use there is no line");
        }
        return new LineItem(description, (units - 1) / UNITS_PER_BLOCK + 1, pricePerBlock);
    }
}
